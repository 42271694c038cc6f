/* Packets as the kernel sends and receives them: a stamp for each on both sides of every device (AF_PACKET rings), and captures.
 * A part of agent.c.
 */
/* Of version 6 more is read, for its header is longer; of programs, too: enough of a datagram to tell it from others. */
static unsigned frame_size = 128, snap = 64;

/* Only what leaves the device: a bottleneck's packets come out of its queue, those the other way go in. */
static struct sock_filter outgoing[] = {
	{BPF_LD | BPF_B | BPF_ABS, 0, 0, (uint32_t)(SKF_AD_OFF + SKF_AD_PKTTYPE)},
	{BPF_JMP | BPF_JEQ | BPF_K, 0, 1, PACKET_OUTGOING},
	{BPF_RET | BPF_K, 0, 0, 64},
	{BPF_RET | BPF_K, 0, 0, 0},
};

static void open_tap(struct tap *tap) {
	enter(tap->ns);
	tap->socket = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (tap->socket < 0) fail("packet socket");
	outgoing[2].k = snap;
	struct sock_fprog program = {.len = sizeof outgoing / sizeof *outgoing, .filter = outgoing};
	if (setsockopt(tap->socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program)) fail("tap filter");
	int version = TPACKET_V2;
	if (setsockopt(tap->socket, SOL_PACKET, PACKET_VERSION, &version, sizeof version)) fail("tap version");
	struct tpacket_req ring = {.tp_block_size = 1u << 16, .tp_frame_size = frame_size};
	ring.tp_block_nr = (tap->frames * frame_size + ring.tp_block_size - 1) / ring.tp_block_size;
	tap->frames = ring.tp_block_nr * (ring.tp_block_size / frame_size);
	ring.tp_frame_nr = tap->frames;
	if (setsockopt(tap->socket, SOL_PACKET, PACKET_RX_RING, &ring, sizeof ring)) fail("tap ring of %u frames", tap->frames);
	tap->ring = mmap(0, (size_t)tap->frames * frame_size, PROT_READ | PROT_WRITE, MAP_SHARED, tap->socket, 0);
	if (tap->ring == MAP_FAILED) fail("tap memory");
	/* The kernel of the guest does not survive a copy of it in a child. */
	if (madvise(tap->ring, (size_t)tap->frames * frame_size, MADV_DONTFORK)) fail("tap memory");
	struct sockaddr_ll where = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP), .sll_ifindex = (int)if_nametoindex(tap->device)};
	if (!where.sll_ifindex) fail("tap on %s", tap->device);
	/* The kernel shows outgoing packets only to sockets of every protocol. */
	where.sll_protocol = htons(ETH_P_ALL);
	if (bind(tap->socket, (void *)&where, sizeof where)) fail("tap on %s", tap->device);
}

static uint16_t be16(const uint8_t *p) { return (uint16_t)(p[0] << 8 | p[1]); }
static uint32_t be32(const uint8_t *p) { return (uint32_t)be16(p) << 16 | be16(p + 2); }

/* The flow of programs that an address is of, and which end; no flow if it is none's. Version 4: 10.(64 + F/256).(F%256).END,
 * version 6: fd00:0:0:F::END; END is 1 for the server and 2 for the client. */
static int owner(const uint8_t *address, int v6, int *end) {
	int flow;
	if (v6) {
		static const uint8_t zero[8];
		if (address[0] != 0xfd || memcmp(address + 1, zero, 5) || memcmp(address + 8, zero, 7)) return -1;
		flow = be16(address + 6);
		*end = address[15];
	} else {
		if (address[0] != 10 || address[1] < 64) return -1;
		flow = (address[1] - 64) << 8 | address[2];
		*end = address[3];
	}
	return flow < n_flows && flows[flow].kind == PROGRAM ? flow : -1;
}


/* A packet of programs. What tells one from another of its connection: TCP's numbers and the identification of IP, or where that
 * is not there TCP's checksum; of other packets a hash of what is captured, in which their own checksums are. */
static int read_programs_packet(const uint8_t *ip, unsigned captured, struct stamp *out) {
	int v6 = ip[0] >> 4 == 6, end, other;
	unsigned header = v6 ? 40 : (ip[0] & 15u) * 4u;
	if (captured < header + 8) return 0;
	int flow = owner(ip + (v6 ? 8 : 12), v6, &end);
	if (flow < 0 || owner(ip + (v6 ? 24 : 16), v6, &other) != flow || end == other) return 0;
	const uint8_t *l4 = ip + header;
	unsigned whole = v6 ? be16(ip + 4) + 40u : be16(ip + 2);
	int whole_packet = v6 || !(be16(ip + 6) & 0x3fff);
	out->flow = (uint16_t)flow;
	out->protocol = v6 ? ip[6] : ip[9];
	out->tos = v6 ? (uint8_t)(be16(ip) >> 4) : ip[1];
	out->way = !sends_data(flow, end);
	out->connection = UINT32_MAX;
	if (whole_packet && (out->protocol == IPPROTO_TCP || out->protocol == IPPROTO_UDP)) {
		uint32_t from = be16(l4), to = be16(l4 + 2);
		out->connection = end == 1 ? from << 16 | to : to << 16 | from;
	}
	if (whole_packet && out->protocol == IPPROTO_TCP && captured >= header + 20) {
		out->seq = be32(l4 + 4);
		out->ack = be32(l4 + 8);
		out->flags = l4[13];
		out->id = v6 ? be16(l4 + 16) : be16(ip + 4);
		out->length = (uint16_t)(whole - header - (unsigned)(l4[12] >> 4) * 4u);
		return 1;
	}
	uint32_t hash = 2166136261u;
	for (const uint8_t *at = l4; at < ip + captured; at++) hash = (hash ^ *at) * 16777619u;
	out->seq = hash;
	out->id = v6 ? 0 : be16(ip + 4);
	out->length = (uint16_t)(whole - header - (out->protocol == IPPROTO_UDP ? 8 : 0));
	return 1;
}

/* Whose packet this is; 0 if nobody's. */
static int read_packet(const uint8_t *ip, unsigned captured, struct stamp *out) {
	if (captured < 28) return 0;
	if (n_programs && read_programs_packet(ip, captured, out)) return 1;
	int v6 = ip[0] >> 4 == 6;
	if (!v6 && ip[0] >> 4 != 4) return 0;
	unsigned header = v6 ? 40 : (ip[0] & 15u) * 4u;
	if (captured < header + 8) return 0;
	const uint8_t *l4 = ip + header;
	int source = be16(l4), target = be16(l4 + 2), flow;
	out->tos = v6 ? (uint8_t)(be16(ip) >> 4) : ip[1];
	out->length = (uint16_t)(v6 ? be16(ip + 4) + 40 : be16(ip + 2));
	out->id = v6 ? 0 : be16(ip + 4);
	out->protocol = v6 ? ip[6] : ip[9];
	if (out->protocol == IPPROTO_TCP && captured >= header + 20) {
		out->seq = be32(l4 + 4);
		out->ack = be32(l4 + 8);
		out->flags = l4[13];
		/* Version 6 has no identification: TCP's checksum tells one copy from another. */
		if (v6) out->id = be16(l4 + 16);
	} else if (out->protocol == IPPROTO_UDP && captured >= header + 12) {
		out->seq = be32(l4 + 8);
	} else if (out->protocol == (v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP)) {
		int request = v6 ? 128 : 8, reply = v6 ? 129 : 0;
		flow = be16(l4 + 4);
		out->seq = be16(l4 + 6);
		out->way = l4[0] == reply;
		out->flow = (uint16_t)flow;
		return flow < n_flows && flows[flow].kind == PING && (l4[0] == reply || l4[0] == request);
	} else {
		return 0;
	}
	out->way = source < PORT_SENDER;
	int tx = out->way ? target : source, rx = out->way ? source : target;
	flow = tx - PORT_SENDER;
	if (flow < 0 || flow >= n_flows) return 0;
	if (flows[flow].kind == SHORT) {
		if (rx < PORT_CLIENT) return 0;
		out->connection = (uint32_t)tx << 16 | (uint32_t)rx;
	} else if (rx - PORT_RECEIVER != flow) {
		return 0;
	}
	out->flow = (uint16_t)flow;
	/* Bytes of payload in the place of the IP length. */
	if (out->protocol == IPPROTO_TCP) out->length = (uint16_t)(out->length - header - (unsigned)(l4[12] >> 4) * 4u);
	return 1;
}

static void put_stamps(const void *data, size_t size) {
	static uint8_t buffer[1 << 20];
	static size_t used;
	if (!data || used + size > sizeof buffer) {
		for (size_t done = 0; done < used;) {
			ssize_t n = write(stamps_fd, buffer + done, used - done);
			if (n <= 0) fail("cannot write the packets' stamps");
			done += (size_t)n;
		}
		used = 0;
	}
	if (data) {
		memcpy(buffer + used, data, size);
		used += size;
	}
}

static void drain_tap(int number) {
	struct tap *tap = &taps[number];
	for (;;) {
		uint8_t *frame = tap->ring + (size_t)tap->at * frame_size;
		volatile struct tpacket2_hdr *header = (void *)frame;
		if (!(header->tp_status & TP_STATUS_USER)) break;
		__sync_synchronize();
		struct stamp s = {.tap = (uint16_t)number};
		uint64_t real = (uint64_t)header->tp_sec * 1000000000u + header->tp_nsec;
		s.at = real - real_offset;
		if (real >= real_offset && read_packet(frame + header->tp_net, header->tp_snaplen, &s)) put_stamps(&s, sizeof s);
		__sync_synchronize();
		header->tp_status = TP_STATUS_KERNEL;
		tap->at = tap->at + 1 == tap->frames ? 0 : tap->at + 1;
	}
}

/* --- captures ------------------------------------------------------------------------------------------------- */

static void open_capture(int number) {
	struct capture *c = &captures[number];
	char path[64];
	snprintf(path, sizeof path, FOLDER "/capture.%d", number);
	c->file = fopen(path, "we");
	if (!c->file) fail("%s", path);
	setvbuf(c->file, malloc(1 << 18), _IOFBF, 1 << 18);
	enter(c->ns);
	c->socket = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (c->socket < 0) fail("packet socket");
	struct sock_filter ip[] = {
		{BPF_LD | BPF_H | BPF_ABS, 0, 0, (uint32_t)(SKF_AD_OFF + SKF_AD_PROTOCOL)},
		{BPF_JMP | BPF_JEQ | BPF_K, 1, 0, ETH_P_IP},
		{BPF_JMP | BPF_JEQ | BPF_K, 0, 1, ETH_P_IPV6},
		{BPF_RET | BPF_K, 0, 0, c->snap},
		{BPF_RET | BPF_K, 0, 0, 0},
	};
	struct sock_fprog program = {.len = sizeof ip / sizeof *ip, .filter = ip};
	if (setsockopt(c->socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program)) fail("capture filter");
	int version = TPACKET_V2;
	if (setsockopt(c->socket, SOL_PACKET, PACKET_VERSION, &version, sizeof version)) fail("capture version");
	c->room = (unsigned)TPACKET_ALIGN(TPACKET_ALIGN(TPACKET2_HDRLEN + 16) + c->snap);
	struct tpacket_req ring = {.tp_block_size = 1u << 16, .tp_frame_size = c->room};
	unsigned each = ring.tp_block_size / c->room;
	ring.tp_block_nr = (c->frames + each - 1) / each;
	ring.tp_frame_nr = c->frames = ring.tp_block_nr * each;
	if (setsockopt(c->socket, SOL_PACKET, PACKET_RX_RING, &ring, sizeof ring)) fail("capture ring of %u frames", c->frames);
	c->ring = mmap(0, (size_t)ring.tp_block_nr * ring.tp_block_size, PROT_READ | PROT_WRITE, MAP_SHARED, c->socket, 0);
	if (c->ring == MAP_FAILED) fail("capture memory");
	if (madvise(c->ring, (size_t)ring.tp_block_nr * ring.tp_block_size, MADV_DONTFORK)) fail("capture memory");
	struct sockaddr_ll where = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = (int)if_nametoindex(c->device)};
	if (!where.sll_ifindex || bind(c->socket, (void *)&where, sizeof where)) fail("capture on %s", c->device);
}

static void drain_capture(int number) {
	struct capture *c = &captures[number];
	unsigned each = (1u << 16) / c->room;
	for (;;) {
		/* Frames do not cross the borders of blocks. */
		uint8_t *frame = c->ring + (size_t)(c->at / each) * (1u << 16) + (size_t)(c->at % each) * c->room;
		volatile struct tpacket2_hdr *header = (void *)frame;
		if (!(header->tp_status & TP_STATUS_USER)) break;
		__sync_synchronize();
		uint64_t real = (uint64_t)header->tp_sec * 1000000000u + header->tp_nsec;
		struct kept kept = {.at = real - real_offset, .length = header->tp_len, .kept = header->tp_snaplen};
		if (real >= real_offset && (fwrite(&kept, sizeof kept, 1, c->file) != 1 || fwrite(frame + header->tp_mac, kept.kept, 1, c->file) != 1)) fail("cannot write a capture");
		__sync_synchronize();
		header->tp_status = TP_STATUS_KERNEL;
		c->at = c->at + 1 == c->frames ? 0 : c->at + 1;
	}
}

static void close_capture(int number) {
	struct capture *c = &captures[number];
	struct tpacket_stats lost = {0};
	socklen_t size = sizeof lost;
	drain_capture(number);
	getsockopt(c->socket, SOL_PACKET, PACKET_STATISTICS, &lost, &size);
	if (lost.tp_drops) fail("the capture on %s missed %u packets", c->device, lost.tp_drops);
	if (fclose(c->file)) fail("cannot write a capture");
}
