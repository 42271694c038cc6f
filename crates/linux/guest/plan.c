/* The plan: the engine's file of namespaces, commands, taps, queues, flows and events. A part of agent.c. */
static uint64_t number_of(const char *word) { return word ? strtoull(word, 0, 10) : 0; }

static void name_space(const char *name) {
	char path[128];
	snprintf(path, sizeof path, "/run/netns/%s", name);
	int fd = open(path, O_CREAT | O_RDONLY | O_CLOEXEC, 0600);
	if (fd < 0) fail("%s", path);
	close(fd);
	if (unshare(CLONE_NEWNET)) fail("a namespace");
	if (mount("/proc/self/ns/net", path, 0, MS_BIND, 0)) fail("naming a namespace");
	here = name;
	/* Version 6 only where a flow wants it: hosts that find one another send packets of their own. A kernel may have none. */
	write_text("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
	write_text("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
}

/* The namespace of the kernel's start, in which its cards are, gets a name. */
static void name_first(const char *name) {
	char path[128];
	snprintf(path, sizeof path, "/run/netns/%s", name);
	int fd = open(path, O_CREAT | O_RDONLY | O_CLOEXEC, 0600);
	if (fd < 0) fail("%s", path);
	close(fd);
	if (mount("/proc/self/ns/net", path, 0, MS_BIND, 0)) fail("naming a namespace");
	here = name;
}

/* Agrees on when the run's clock begins with whoever carries the cards' frames: proposes a time, with the time of the proposal,
 * and takes the answer's, which may be later where there are other guests. The frames' type is one of those for local experiments
 * (IEEE 802). */
static uint64_t agree_on_beginning(const char *ns, const char *device, uint64_t proposed) {
	struct { uint8_t to[6], from[6]; uint16_t type; char magic[8]; uint64_t now, begins; char rest[20]; } __attribute__((packed)) answer, frame = {
		.to = {255, 255, 255, 255, 255, 255}, .from = {2}, .type = htons(0x88b5), .magic = "sojourn"};
	enter(ns);
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	/* A bridge leaves frames to those alone who ask for every protocol; these see what they send, too. */
	struct sockaddr_ll source, where = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = (int)if_nametoindex(device), .sll_halen = 6};
	if (fd < 0 || !where.sll_ifindex) fail("a packet socket on %s", device);
	if (bind(fd, (void *)&where, sizeof where)) fail("a packet socket on %s", device);
	frame.begins = proposed;
	frame.now = clock_ns(CLOCK_MONOTONIC);
	if (sendto(fd, &frame, sizeof frame, 0, (void *)&where, sizeof where) != sizeof frame) fail("the frame with the beginning of the clock");
	do {
		socklen_t size = sizeof source;
		answer.now = 0;
		if (recvfrom(fd, &answer, sizeof answer, 0, (void *)&source, &size) < 0) fail("no answer about the beginning of the clock");
	} while (source.sll_pkttype == PACKET_OUTGOING || memcmp(answer.magic, frame.magic, sizeof frame.magic) || answer.now != frame.now);
	close(fd);
	return answer.begins;
}

/* A file of the run's folder with what a flow does by the clock; none by the name "-". */
static FILE *open_list(const char *name) {
	char path[128];
	if (!strcmp(name, "-")) return 0;
	snprintf(path, sizeof path, FOLDER "/%s", name);
	FILE *list = fopen(path, "re");
	if (!list) fail("%s", path);
	return list;
}

/* The next free place of an array. */
#define PLACE(array, count) (&(array)[place((count)++, sizeof(array) / sizeof *(array), #array)])
static int place(int at, size_t room, const char *of) {
	errno = 0;
	if ((size_t)at >= room) fail("there is room for %zu %s, and the plan has more", room, of);
	return at;
}

static void read_plan(void) {
	FILE *plan = fopen(FOLDER "/plan", "r");
	if (!plan) fail("no plan");
	char *line = 0;
	size_t room = 0;
	while (getline(&line, &room, plan) > 0) {
		char *text = strdup(line), *word[WORDS + 1] = {0};
		int n = 0;
		for (char *w = strtok(text, " \n"); w && n < WORDS; w = strtok(0, " \n")) word[n++] = w;
		if (!n) continue;
		errno = 0;
		if (n == WORDS) fail("a line of the plan has more than %d words: %s", WORDS - 1, line);
		if (!strcmp(word[0], "length")) length = number_of(word[1]);
		else if (!strcmp(word[0], "step")) step = number_of(word[1]);
		else if (!strcmp(word[0], "namespace")) name_space(word[1]);
		else if (!strcmp(word[0], "first")) name_first(word[1]);
		else if (!strcmp(word[0], "beginning")) beginning_ns = word[1], beginning_device = word[2];
		else if (!strcmp(word[0], "run")) run(word[1], word + 2);
		else if (!strcmp(word[0], "file")) put_file(word[1], word[2]);
		else if (!strcmp(word[0], "offloads")) offloads_off(word[1], word[2]);
		else if (!strcmp(word[0], "set")) {
			char value[256] = "";
			for (int i = 3; i < n; i++) snprintf(value + strlen(value), sizeof value - strlen(value), "%s%s", i > 3 ? " " : "", word[i]);
			enter(word[1]);
			if (write_text(word[2], value) && word[2][0] != '?') fail("%s = %s", word[2], value);
		} else if (!strcmp(word[0], "wait")) {
			struct timespec t = {(time_t)(number_of(word[1]) / 1000), (long)(number_of(word[1]) % 1000) * 1000000};
			nanosleep(&t, 0);
		} else if (!strcmp(word[0], "tap")) {
			*PLACE(taps, n_taps) = (struct tap){.ns = word[1], .device = word[2], .frames = (unsigned)number_of(word[3])};
		} else if (!strcmp(word[0], "capture")) {
			*PLACE(captures, n_captures) = (struct capture){.ns = word[1], .device = word[2], .frames = (unsigned)number_of(word[3]), .snap = (unsigned)number_of(word[4])};
		} else if (!strcmp(word[0], "queue")) {
			*PLACE(queues, n_queues) = (struct queue){.ns = word[1], .device = word[2], .handle = (uint32_t)strtoul(word[3], 0, 16) << 16, .off = !strcmp(word[4], "off")};
		} else if (!strcmp(word[0], "policer")) {
			*PLACE(policers, n_policers) = (struct policer){.ns = word[1], .index = (uint32_t)number_of(word[2]), .marks = (uint32_t)number_of(word[3]), .drops = (uint32_t)number_of(word[4])};
		} else if (!strcmp(word[0], "association")) {
			*PLACE(associations, n_associations) = (struct association){.ns = word[1], .to = word[2], .spi = (uint32_t)number_of(word[3])};
		} else if (!strcmp(word[0], "at")) {
			struct action *a = PLACE(actions, n_actions);
			a->at = number_of(word[1]);
			a->number = (int)number_of(word[2]);
			a->ns = word[3];
			for (int i = 4; i < n; i++) a->argv[i - 4] = word[i];
		} else if (!strcmp(word[0], "flow")) {
			/* flow KIND TX RX TX_ADDRESS RX_ADDRESS START STOP TOS then KIND's own. Of tcp, short and stream
			 * "CC ECN BYTES PACE WINDOW BUFFER PIECE", BYTES of short being the number of connections; then of tcp "RATE LIST", of
			 * short "REQUEST LIST", of stream "REQUEST"; of udp "constant PAYLOAD RATE", "listed FILE" or "asked"; of ping and
			 * irtt "SIZE INTERVAL"; of programs SENDER HAS_SERVER READY WITHIN EXIT SERVER_ORDER CLIENT_ORDER */
			static const struct { const char *word; enum kind kind; } kinds[] = {
				{"tcp", TCP}, {"udp", UDP}, {"ping", PING}, {"program", PROGRAM}, {"irtt", IRTT}, {"short", SHORT}, {"stream", STREAM}};
			struct flow *f = PLACE(flows, n_flows);
			*f = (struct flow){.next = NEVER, .listener = -1, .receiver = -1, .sender = -1, .due = NEVER, .report = NEVER, .piece_at = NEVER};
			for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++)
				if (!strcmp(word[1], kinds[k].word)) f->kind = kinds[k].kind;
			f->tx = word[2]; f->rx = word[3]; f->tx_address = word[4]; f->rx_address = word[5];
			f->start = !strcmp(word[6], "never") ? NEVER : number_of(word[6]);
			f->stop = !strcmp(word[7], "never") ? NEVER : number_of(word[7]);
			f->tos = (int)number_of(word[8]);
			if (f->kind == TCP || asks_and_answers(f)) {
				snprintf(f->cc, sizeof f->cc, "%s", word[9]);
				f->ecn = (int)number_of(word[10]);
				f->bytes = number_of(word[11]);
				f->pace = number_of(word[12]);
				f->window = number_of(word[13]);
				f->buffer = number_of(word[14]);
				f->piece = number_of(word[15]);
				if (f->kind == TCP) {
					f->rate = number_of(word[16]);
					f->list = open_list(word[17]);
					f->writes = f->rate || f->list;
				} else {
					f->request = number_of(word[16]);
					f->list = open_list(f->kind == SHORT ? word[17] : "-");
				}
			} else if (f->kind == PROGRAM) {
				struct program *p = f->program = calloc(1, sizeof *p);
				int up = !strcmp(word[9], "client");
				p->sender = up ? CLIENT_SIDE : SERVER_SIDE;
				p->ns[SERVER_SIDE] = up ? f->rx : f->tx;
				p->ns[CLIENT_SIDE] = up ? f->tx : f->rx;
				p->name[SERVER_SIDE] = "the server";
				p->name[CLIENT_SIDE] = "the client";
				p->has_server = (int)number_of(word[10]);
				p->ready_after = NEVER;
				/* READY: listens, port=N, after=NS, output=HEX */
				if (!strncmp(word[11], "port=", 5)) p->port = (int)number_of(word[11] + 5);
				else if (!strncmp(word[11], "after=", 6)) p->ready_after = number_of(word[11] + 6);
				else if (!strncmp(word[11], "output=", 7)) {
					size_t size = strlen(word[11] + 7) / 2;
					char *wanted = calloc(1, size + 1);
					for (size_t k = 0; k < size; k++) {
						char byte[3] = {word[11][7 + 2 * k], word[11][8 + 2 * k], 0};
						wanted[k] = (char)strtoul(byte, 0, 16);
					}
					p->ready = wanted;
				}
				p->within = number_of(word[12]);
				p->wanted = (int)number_of(word[13]);
				p->order[SERVER_SIDE] = word[14];
				p->order[CLIENT_SIDE] = word[15];
				n_programs++;
				read_program_files(n_flows - 1);
			} else if (f->kind == PING || f->kind == IRTT) {
				f->payload = (int)number_of(word[9]);
				f->interval = number_of(word[10]);
			} else if (!strcmp(word[9], "listed")) {
				f->list = open_list(word[10]);
			} else if (!strcmp(word[9], "asked")) {
				f->asks = 1;
			} else {
				f->payload = (int)number_of(word[10]);
				f->pace = number_of(word[11]);
			}
		} else fail("unknown word in the plan: %s", word[0]);
	}
	fclose(plan);
}
