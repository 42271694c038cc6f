/* Connections on which the receiver of a flow's data asks and its sender answers: many short ones, each for one request, and
 * the one of an adaptive stream. A part of agent.c.
 *
 * Invariants: requests and answers are bytes that nobody reads; a connection is not ended on the wire, for those of the
 * simulator are not (TCP_REPAIR lets a socket go without a word); what an adaptive stream asks for, and when, is the
 * engine's to say, whose client of such streams is the simulator's own.
 */
#define OF_CONNECTION ((uint64_t)1 << 62)

enum end { CLIENT_END, SERVER_END };

struct connection {
	int flow, fd[2], port, live, done;
	uint64_t number, answer;
	/* Bytes by end: to be written so far, written, read. */
	uint64_t supplied[2], written[2], read[2];
};

/* What a stream's client asked for, and after how many bytes of requests its server has heard it. */
struct wish { uint64_t heard_at, bytes; int instead; };

struct stream {
	unsigned slot;
	struct wish wishes[16];
	unsigned first, count;
	/* Where the segment that is awaited begins and ends among the bytes of answers. */
	int awaits;
	uint64_t begin, end;
};

static struct connection *connections;
static unsigned n_connections;

static uint64_t connection_tag(unsigned slot, enum end end) { return OF_CONNECTION | slot * 2u | (unsigned)end; }

static void listen_to(unsigned slot, enum end end) {
	struct connection *c = &connections[slot];
	int writes = c->written[end] < c->supplied[end];
	struct epoll_event event = {.events = EPOLLIN | (writes ? EPOLLOUT : 0), .data.u64 = connection_tag(slot, end)};
	if (c->fd[end] >= 0) epoll_ctl(epoll, EPOLL_CTL_MOD, c->fd[end], &event);
}

/* Writes what an end has to write. */
static void write_on(unsigned slot, enum end end) {
	struct connection *c = &connections[slot];
	struct flow *f = &flows[c->flow];
	if (c->fd[end] < 0 || c->written[end] >= c->supplied[end]) return;
	c->written[end] += put(c->fd[end], c->supplied[end] - c->written[end], f->piece, f->kind == STREAM && end == SERVER_END);
	listen_to(slot, end);
}

static void supply(unsigned slot, enum end end, uint64_t bytes) {
	connections[slot].supplied[end] += bytes;
	write_on(slot, end);
	listen_to(slot, end);
}

/* A client opens a connection; its number is that of the flow's connections. */
static unsigned connect_client(int i, uint64_t number, int port) {
	struct flow *f = &flows[i];
	unsigned slot = 0;
	while (slot < n_connections && connections[slot].live) slot++;
	if (slot == n_connections) {
		n_connections++;
		connections = realloc(connections, n_connections * sizeof *connections);
		if (!connections) fail("memory for connections");
	}
	struct connection *c = &connections[slot];
	*c = (struct connection){.flow = i, .fd = {-1, -1}, .port = port, .live = 1, .number = number};
	enter(f->rx);
	int fd = c->fd[CLIENT_END] = socket(family(f->rx_address), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0) fail("socket");
	set_number(fd, SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
	prepare(fd, f, f->rx_address);
	limit_window(fd, f);
	struct endpoint from = endpoint(f->rx_address, port);
	if (bind(fd, (void *)&from.at, from.size)) fail("bind");
	connect_to(fd, f, f->tx_address, PORT_SENDER + i);
	watch(fd, EPOLLIN | EPOLLOUT, connection_tag(slot, CLIENT_END));
	return slot;
}

static void short_progress(unsigned slot, uint64_t t);

static void accept_connection(int i, int fd, uint64_t t) {
	struct endpoint peer = {.size = sizeof peer.at};
	if (getpeername(fd, (void *)&peer.at, &peer.size)) {
		close(fd);
		return;
	}
	/* The port is at the same place in the addresses of both versions. */
	int port = ntohs(((struct sockaddr_in *)&peer.at)->sin_port);
	for (unsigned slot = 0; slot < n_connections; slot++) {
		struct connection *c = &connections[slot];
		if (!c->live || c->flow != i || c->port != port || c->fd[SERVER_END] >= 0) continue;
		c->fd[SERVER_END] = fd;
		watch(fd, EPOLLIN, connection_tag(slot, SERVER_END));
		if (flows[i].kind == STREAM) {
			flows[i].sender = fd;
			flows[i].receiver = c->fd[CLIENT_END];
		} else {
			/* A request may have no bytes. */
			short_progress(slot, t);
		}
		return;
	}
	close(fd);
}

/* Lets a connection go without a packet. */
static void forget(unsigned slot) {
	struct connection *c = &connections[slot];
	for (int end = 0; end < 2; end++) {
		if (c->fd[end] < 0) continue;
		set_number(c->fd[end], IPPROTO_TCP, OPT_TCP_REPAIR, 1, "TCP_REPAIR");
		close(c->fd[end]);
	}
	c->live = 0;
}

static void add_numbers(const struct tcp_numbers *n, struct sums *sums) {
	sums->sent += n->data_segs_out;
	sums->retransmits += n->total_retrans;
	sums->lost += n->total_retrans + n->lost;
	sums->delivered += n->delivered;
	sums->in_flight += n->unacked + n->retrans - n->sacked - n->lost;
}

static void sum_connections(int i, struct sums *sums) {
	struct tcp_numbers n;
	for (unsigned slot = 0; slot < n_connections; slot++)
		if (connections[slot].live && connections[slot].flow == i && !numbers(connections[slot].fd[SERVER_END], &n)) add_numbers(&n, sums);
}

/* A connection on which nothing more comes is forgotten, at the end of a step. */
static void close_quiet_connections(void) {
	struct tcp_numbers n;
	for (unsigned slot = 0; slot < n_connections; slot++) {
		struct connection *c = &connections[slot];
		if (!c->live || !c->done || numbers(c->fd[SERVER_END], &n) || n.bytes_acked < c->written[SERVER_END]) continue;
		add_numbers(&n, &flows[c->flow].gone);
		forget(slot);
	}
}

/* --- many short ones ------------------------------------------------------------------------------------------- */

static void open_connection(int i, uint64_t t, uint64_t bytes) {
	struct flow *f = &flows[i];
	uint64_t number = f->opened++;
	unsigned slot = connect_client(i, number, PORT_CLIENT + (int)(number % CLIENTS));
	connections[slot].answer = bytes;
	supply(slot, CLIENT_END, f->request);
	fprintf(samples, "open %llu %d %llu\n", (unsigned long long)t, i, (unsigned long long)bytes);
}

/* The answer follows the whole request; with its last byte the connection has done what it was opened for. */
static void short_progress(unsigned slot, uint64_t t) {
	struct connection *c = &connections[slot];
	struct flow *f = &flows[c->flow];
	if (!c->supplied[SERVER_END] && c->read[SERVER_END] >= f->request) supply(slot, SERVER_END, c->answer);
	if (c->done || c->read[CLIENT_END] < c->answer) return;
	c->done = 1;
	f->completed++;
	fprintf(samples, "took %llu %d %llu\n", (unsigned long long)t, c->flow, (unsigned long long)c->number);
	if (f->bytes && f->completed == f->bytes) end_flow(c->flow, t, "finished");
}

/* --- an adaptive stream ---------------------------------------------------------------------------------------- */

/* Asks what the client does now: what it asks for, and when it next looks. */
static void ask_client(int i, uint64_t t, const char *what, uint64_t received) {
	struct flow *f = &flows[i];
	struct stream *s = f->stream;
	const char *answer = ask("%d %llu %s %llu", i, (unsigned long long)t, what, (unsigned long long)received);
	uint64_t next = next_number(&answer);
	f->next = next == 0 ? NEVER : next;
	for (uint64_t n = next_number(&answer); n > 0; n--) {
		struct wish wish = {.instead = (int)next_number(&answer)};
		wish.bytes = next_number(&answer);
		wish.heard_at = connections[s->slot].supplied[CLIENT_END] + f->request;
		if (s->count == sizeof s->wishes / sizeof *s->wishes) fail("a stream asks for too much");
		s->wishes[(s->first + s->count++) % (sizeof s->wishes / sizeof *s->wishes)] = wish;
		supply(s->slot, CLIENT_END, f->request);
	}
}

/* What the awaited segment has of the bytes that have come. While a wish is on its way, they are of one that is given up. */
static uint64_t stream_received(int i) {
	struct stream *s = flows[i].stream;
	uint64_t taken = connections[s->slot].read[CLIENT_END];
	return s->awaits && !s->count && taken > s->begin ? taken - s->begin : 0;
}

static void stream_progress(unsigned slot, uint64_t t) {
	struct connection *c = &connections[slot];
	int i = c->flow;
	struct stream *s = flows[i].stream;
	if (flows[i].life != RUNNING) return;
	while (s->count && c->read[SERVER_END] >= s->wishes[s->first].heard_at) {
		struct wish wish = s->wishes[s->first];
		s->first = (s->first + 1) % (sizeof s->wishes / sizeof *s->wishes);
		s->count--;
		/* In place of what the kernel has not taken. */
		if (wish.instead) c->supplied[SERVER_END] = c->written[SERVER_END];
		s->awaits = 1;
		s->begin = c->supplied[SERVER_END];
		s->end = s->begin + wish.bytes;
		supply(slot, SERVER_END, wish.bytes);
		c = &connections[slot];
	}
	if (s->awaits && !s->count && c->read[CLIENT_END] >= s->end) {
		s->awaits = 0;
		ask_client(i, t, "segment", 0);
	}
}

static void stream_due(int i, uint64_t t) { ask_client(i, t, "look", stream_received(i)); }

/* The viewer ends: nothing more is asked for, and what has not left is not sent. */
static void stop_stream(int i, uint64_t t) {
	struct flow *f = &flows[i];
	ask("%d %llu stop 0", i, (unsigned long long)t);
	struct connection *c = &connections[f->stream->slot];
	c->supplied[SERVER_END] = c->written[SERVER_END];
	f->stream->count = 0;
	f->stream->awaits = 0;
	listen_to(f->stream->slot, SERVER_END);
}

static void start_connections(int i, uint64_t t, uint64_t planned) {
	struct flow *f = &flows[i];
	f->base = planned;
	if (f->kind == SHORT) {
		f->next = next_of_list(f);
		return;
	}
	f->stream = calloc(1, sizeof *f->stream);
	f->stream->slot = connect_client(i, 0, PORT_RECEIVER + i);
	ask_client(i, t, "start", 0);
}

static void connection_ready(uint32_t events, unsigned slot, int end, uint64_t t) {
	struct connection *c = &connections[slot];
	if (!c->live || c->fd[end] < 0) return;
	if (events & (EPOLLERR | EPOLLHUP)) {
		/* It was given up: of a short one nothing more comes, and a stream has lost its only one. */
		int error = 0, flow = c->flow;
		socklen_t size = sizeof error;
		getsockopt(c->fd[end], SOL_SOCKET, SO_ERROR, &error, &size);
		if (flows[flow].kind == STREAM) {
			flows[flow].sender = flows[flow].receiver = -1;
			end_flow(flow, t, strerror(error));
		}
		forget(slot);
		return;
	}
	if (events & EPOLLOUT) write_on(slot, (enum end)end);
	if (!(events & EPOLLIN)) return;
	for (;;) {
		ssize_t n = recv(c->fd[end], bulk, sizeof bulk, MSG_TRUNC | MSG_DONTWAIT);
		if (n <= 0) break;
		c->read[end] += (uint64_t)n;
		if (end == CLIENT_END) flows[c->flow].received_bytes += (uint64_t)n;
		if (n < (ssize_t)sizeof bulk) break;
	}
	if (flows[c->flow].kind == STREAM) stream_progress(slot, t);
	else short_progress(slot, t);
}
