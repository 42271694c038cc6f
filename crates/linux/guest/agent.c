/* The guest's only program: it is the init of a User-Mode Linux kernel, carries out the plan that the engine
 * wrote, and switches the guest off. docs/linux-engine.md says what a plan and the two files of results are.
 *
 * Invariants: the guest's root is the host's, mounted read-only, and nothing is written but into the run's
 * folder; no command is waited for once the run's clock has begun, for waiting would let sockets starve, but those that
 * switch a queue, which need no timer; at one time, starts, stops and events come first and the sample last.
 *
 * The trick: in virtual time a program's work takes no time, so one loop that looks at everything between two
 * timers sees a consistent state, and a packet's stamp is the time at which the kernel handled it.
 *
 * Connections that ask and answer are in connections.h, what the kernel tells of programs' sockets in sockets.h. What a flow does that depends on what it receives is decided by the
 * engine, which is asked (ask()): the kernel's process hands the question over and waits, and the guest's clock stands still.
 *
 * A flow of programs is one of the machine's own programs at each end, in namespaces of their own beside the server's and the
 * client's. Its packets are told by the two addresses that it alone has.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/filter.h>
#include <linux/gen_stats.h>
#include <linux/if_packet.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <pthread.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FOLDER "/run/job"
#define NEVER UINT64_MAX
#define WORDS 64
#define PORT_SENDER 40001
#define PORT_RECEIVER 5001
/* Behind the receivers' ports, of which there are as many as flows: those of clients that open many connections. */
#define PORT_CLIENT 10000
#define CLIENTS 30000

/* Values of the kernel's interface that the C library's headers may be too old to have. */
#define OPT_TCP_INFO 11
#define OPT_TCP_CONGESTION 13
#define OPT_TCP_WINDOW_CLAMP 10
#define OPT_TCP_CC_INFO 26
#define OPT_TCP_NODELAY 1
#define OPT_TCP_REPAIR 19
#define OPT_TCP_NOTSENT_LOWAT 25
#define ASK_UNSENT 0x894b /* SIOCOUTQNSD */
#define OPT_MAX_PACING_RATE 47
#define OPT_SNDBUFFORCE 32
#define OPT_RCVBUFFORCE 33

/* struct tcp_info, whose beginning never changes. */
struct tcp_numbers {
	uint8_t state, ca_state, retransmits, probes, backoff, options, wscale, flags;
	uint32_t rto, ato, snd_mss, rcv_mss, unacked, sacked, lost, retrans, fackets;
	uint32_t last_data_sent, last_ack_sent, last_data_recv, last_ack_recv;
	uint32_t pmtu, rcv_ssthresh, rtt, rttvar, snd_ssthresh, snd_cwnd, advmss, reordering;
	uint32_t rcv_rtt, rcv_space, total_retrans;
	uint64_t pacing_rate, max_pacing_rate, bytes_acked, bytes_received;
	uint32_t segs_out, segs_in, notsent_bytes, min_rtt, data_segs_in, data_segs_out;
	uint64_t delivery_rate, busy_time, rwnd_limited, sndbuf_limited;
	uint32_t delivered, delivered_ce;
	uint64_t bytes_sent, bytes_retrans;
	uint32_t dsack_dups, reord_seen, rcv_ooopack, snd_wnd, rcv_wnd, rehash;
};

/* What the engine reads of a packet: 32 bytes, in the machine's order. */
struct stamp {
	uint64_t at;       /* ns of the run's clock */
	uint32_t seq, ack; /* TCP's; of UDP the datagram's number, of ICMP the sequence number */
	uint16_t tap, flow, id, length; /* length: of TCP and of programs' UDP the payload's, else the IP packet's */
	uint8_t tos, flags, protocol, way; /* way: 0 data, 1 what comes back */
	uint32_t connection; /* of programs: the ports of server and client; else 0 */
} __attribute__((packed));

enum kind { TCP, UDP, PING, PROGRAM, IRTT, SHORT, STREAM };
enum life { WAITING, RUNNING, ENDED };

/* One of a list: when after the flow's start, and how many bytes; of on and off periods 1 for on. */
struct listed { uint64_t at, bytes; };

/* Counts over several connections. */
struct sums { uint64_t sent, retransmits, lost, delivered, in_flight; };

struct flow {
	enum kind kind;
	enum life life;
	const char *tx, *rx; /* namespaces */
	const char *tx_address, *rx_address;
	uint64_t start, stop, bytes, pace, interval, window, buffer, base, next, sent, received, received_bytes;
	char cc[32];
	int ecn, tos, payload;
	int listener, receiver, sender;
	FILE *list; /* of datagrams, on and off periods, or connections: the one due next has been read */
	struct listed listed;
	struct program *program;
	/* Of TCP that always has data: who writes it, and with which error that ended. */
	pthread_t writer;
	int has_writer, error;
	/* Of TCP that does not always have data: segments' bytes, bits per second (0: no rate), until where it may write, when
	 * its next segment is due since when it has been writing, and how many it has had. */
	int writes, wanting, is_on;
	uint64_t piece, rate, allowed, clock, pieces, piece_at;
	/* Of connections that ask: bytes of a request, connections opened and completed, and the sums over those that are gone. */
	uint64_t request, opened, completed;
	struct sums gone;
	struct stream *stream;
	/* Of a video call that adapts: when its next datagram and its receiver's next report are due, and what has come. */
	int asks;
	uint64_t due, report, reports;
	char come[3072];
	unsigned come_used;
};


struct action { uint64_t at; char *argv[WORDS]; const char *ns; pid_t pid; int number, done; };
struct queue { const char *ns, *device; uint32_t handle; int index; int socket; int off; };
/* A policer of tc, by the number that it has in its namespace; where it marks, those of the actions that count marks and drops. */
struct policer { const char *ns; uint32_t index, marks, drops; int socket; };
struct tap { const char *ns, *device; unsigned frames, at; int socket; uint8_t *ring; uint64_t lost; };
/* A device whose packets are kept, both ways; `room` is what one takes in the ring. */
struct capture { const char *ns, *device; unsigned frames, at, snap, room; int socket; uint8_t *ring; FILE *file; };
/* What stands before each packet in a capture's file: its time, its length, and how much of it follows. */
struct kept { uint64_t at; uint32_t length, kept; };

static struct flow flows[4096];
static struct action actions[1024];
static struct queue queues[64];
static struct policer policers[64];
static struct tap taps[128];
static struct capture captures[128];
static int n_flows, n_actions, n_queues, n_policers, n_taps, n_captures, n_programs;
static uint64_t epoch, length, step, real_offset;
static int epoll, log_fd = -1, stamps_fd, clock_fd;
static FILE *samples;
static const char *here = "";
/* Where the clock's beginning is agreed upon with whoever carries the frames; nowhere if nobody does. */
static const char *beginning_ns, *beginning_device;
static char bulk[1 << 18];
static char *log_path = FOLDER "/log";

static void leave(void) {
	if (samples) { fflush(samples); fsync(fileno(samples)); }
	sync();
	reboot(RB_POWER_OFF);
	for (;;) pause();
}

static void fail(const char *format, ...) {
	char text[1024];
	int error = errno;
	va_list list;
	va_start(list, format);
	vsnprintf(text, sizeof text, format, list);
	va_end(list);
	FILE *to = samples ? samples : stderr;
	fprintf(to, "error %s%s%s\n", text, error ? ": " : "", error ? strerror(error) : "");
	leave();
}

static uint64_t clock_ns(clockid_t which) {
	struct timespec t;
	clock_gettime(which, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t now(void) { return clock_ns(CLOCK_MONOTONIC) - epoch; }

static void enter(const char *ns) {
	if (!strcmp(here, ns)) return;
	char path[128];
	snprintf(path, sizeof path, "/run/netns/%s", ns);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET)) fail("namespace %s", ns);
	close(fd);
	here = ns;
}

static int write_text(const char *path, const char *text) {
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0) return -1;
	ssize_t n = write(fd, text, strlen(text));
	close(fd);
	return n < 0 ? -1 : 0;
}

static int read_text(const char *path, char *text, size_t size) {
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) return -1;
	ssize_t n = read(fd, text, size - 1);
	close(fd);
	if (n < 0) return -1;
	text[n] = 0;
	return 0;
}

static pid_t spawn(const char *ns, char **argv) {
	enter(ns);
	pid_t pid = vfork();
	if (pid < 0) fail("cannot start %s", argv[0]);
	if (pid == 0) {
		dup2(log_fd, 1);
		dup2(log_fd, 2);
		execv(argv[0], argv);
		_exit(127);
	}
	return pid;
}

/* Waits for a command that ends, or has ended; what it said is in the log. */
static void reap(pid_t pid, char **argv) {
	int status = 0;
	if (waitpid(pid, &status, 0) != pid) fail("lost %s", argv[0]);
	if (status) {
		char text[900] = "";
		for (int i = 0; argv[i]; i++)
			snprintf(text + strlen(text), sizeof text - strlen(text), " %s", argv[i]);
		errno = 0;
		fail("command%s", text);
	}
}

static void run(const char *ns, char **argv) {
	reap(spawn(ns, argv), argv);
}

static void offloads_off(const char *ns, const char *device) {
	static const uint32_t commands[] = {ETHTOOL_SRXCSUM, ETHTOOL_STXCSUM, ETHTOOL_SSG, ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO};
	enter(ns);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	for (unsigned i = 0; i < sizeof commands / sizeof *commands; i++) {
		struct ethtool_value value = {.cmd = commands[i], .data = 0};
		struct ifreq request = {0};
		snprintf(request.ifr_name, IFNAMSIZ, "%s", device);
		request.ifr_data = (void *)&value;
		ioctl(fd, SIOCETHTOOL, &request); /* what a device does not have is off already */
	}
	close(fd);
}

static void watch(int fd, uint32_t events, uint64_t tag) {
	struct epoll_event event = {.events = events, .data.u64 = tag};
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event)) fail("epoll");
}

static uint64_t tag(int flow, int end) { return (uint64_t)flow * 4 + (uint64_t)end; }
enum { LISTENER, RECEIVER, SENDER };

static int is_v6(const char *ip) { return strchr(ip, ':') != 0; }
static int family(const char *ip) { return is_v6(ip) ? AF_INET6 : AF_INET; }

/* An address of either version with a port. */
struct endpoint { struct sockaddr_storage at; socklen_t size; };

static struct endpoint endpoint(const char *ip, int port) {
	struct endpoint e = {0};
	if (is_v6(ip)) {
		struct sockaddr_in6 *a = (void *)&e.at;
		a->sin6_family = AF_INET6;
		a->sin6_port = htons((uint16_t)port);
		inet_pton(AF_INET6, ip, &a->sin6_addr);
		e.size = sizeof *a;
	} else {
		struct sockaddr_in *a = (void *)&e.at;
		a->sin_family = AF_INET;
		a->sin_port = htons((uint16_t)port);
		inet_pton(AF_INET, ip, &a->sin_addr);
		e.size = sizeof *a;
	}
	return e;
}

/* --- the engine ----------------------------------------------------------------------------------------------- */

static const char *ask(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Asks the engine, and has its answer when this returns: both calls end in the kernel's process, on the host, where they
 * stand for question and answer (preload.c). No time goes by. */
static const char *ask(const char *format, ...) {
	static char question[4000], answer[4096];
	va_list list;
	va_start(list, format);
	vsnprintf(question, sizeof question, format, list);
	va_end(list);
	if (symlink(question, FOLDER "/question") == 0) fail("a question was taken for a file");
	ssize_t n = readlink(FOLDER "/answer", answer, sizeof answer - 1);
	errno = 0;
	if (n <= 0) fail("the engine does not answer: %s", question);
	answer[n] = 0;
	if (answer[0] == '!') fail("the engine: %s", answer + 1);
	return answer;
}

/* The next number of an answer. */
static uint64_t next_number(const char **answer) {
	char *end;
	uint64_t n = strtoull(*answer, &end, 10);
	if (end == *answer) fail("the engine's answer is cut short");
	*answer = end;
	return n;
}

/* --- taps ----------------------------------------------------------------------------------------------------- */

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
	/* Outgoing packets are shown only to those who ask for every protocol. */
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

static int sends_data(int flow, int end);

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

/* --- queues --------------------------------------------------------------------------------------------------- */

/* What a queue has counted; of one that goes it is the last line, for what comes after it begins at 0. */
static void put_queue(const char *what, int number, uint64_t t) {
	struct queue *queue = &queues[number];
	if (queue->off) {
		fprintf(samples, "%s %llu %d - 0 0 0 0 0 0 -\n", what, (unsigned long long)t, number);
		return;
	}
	struct { struct nlmsghdr h; struct tcmsg t; } request = {
		.h = {.nlmsg_len = sizeof request, .nlmsg_type = RTM_GETQDISC, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ECHO, .nlmsg_seq = 1},
		.t = {.tcm_family = AF_UNSPEC, .tcm_ifindex = queue->index, .tcm_handle = queue->handle},
	};
	static uint8_t reply[1 << 16];
	if (send(queue->socket, &request, sizeof request, 0) < 0) fail("netlink");
	/* The answer is there when send() returns; to wait for one would be to wait for ever. */
	ssize_t size = recv(queue->socket, reply, sizeof reply, MSG_DONTWAIT);
	if (size <= 0) fail("no answer about the queue on %s", queue->device);
	struct nlmsghdr *h = (void *)reply;
	if (h->nlmsg_type == NLMSG_ERROR) {
		/* A queue that is being replaced. */
		return;
	}
	struct tcmsg *m = NLMSG_DATA(h);
	int left = (int)h->nlmsg_len - (int)NLMSG_LENGTH(sizeof *m);
	const char *kind = "?";
	struct gnet_stats_queue q = {0};
	uint64_t bytes = 0, packets = 0;
	const uint8_t *own = 0;
	unsigned own_size = 0;
	for (struct rtattr *a = (void *)((char *)m + NLMSG_ALIGN(sizeof *m)); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		if (a->rta_type == TCA_KIND) kind = RTA_DATA(a);
		if (a->rta_type != TCA_STATS2) continue;
		int inner = (int)RTA_PAYLOAD(a);
		for (struct rtattr *s = RTA_DATA(a); RTA_OK(s, inner); s = RTA_NEXT(s, inner)) {
			if (s->rta_type == TCA_STATS_QUEUE) memcpy(&q, RTA_DATA(s), sizeof q);
			if (s->rta_type == TCA_STATS_BASIC) {
				struct gnet_stats_basic basic;
				memcpy(&basic, RTA_DATA(s), sizeof basic);
				bytes = basic.bytes;
				packets = basic.packets;
			}
			if (s->rta_type == TCA_STATS_APP) { own = RTA_DATA(s); own_size = RTA_PAYLOAD(s); }
		}
	}
	fprintf(samples, "%s %llu %d %s %u %u %llu %llu %u %u ", what, (unsigned long long)t, number, kind, q.qlen, q.backlog,
		(unsigned long long)packets, (unsigned long long)bytes, q.drops, q.overlimits);
	if (!own_size) fputc('-', samples);
	for (unsigned i = 0; i < own_size; i++) fprintf(samples, "%02x", own[i]);
	fputc('\n', samples);
}

static void sample_queue(int number, uint64_t t) { put_queue("queue", number, t); }

/* Takes a queue away, as `tc qdisc del dev … root`. No time goes by between its last line and this. */
static void remove_queue(int number) {
	struct queue *queue = &queues[number];
	struct { struct nlmsghdr h; struct tcmsg t; } request = {
		.h = {.nlmsg_len = sizeof request, .nlmsg_type = RTM_DELQDISC, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK, .nlmsg_seq = 1},
		.t = {.tcm_family = AF_UNSPEC, .tcm_ifindex = queue->index, .tcm_parent = TC_H_ROOT},
	};
	static uint8_t reply[1 << 12];
	put_queue("last", number, now());
	if (send(queue->socket, &request, sizeof request, 0) < 0) fail("netlink");
	ssize_t size = recv(queue->socket, reply, sizeof reply, MSG_DONTWAIT);
	struct nlmsghdr *h = (void *)reply;
	struct nlmsgerr *said = NLMSG_DATA(h);
	if (size < (ssize_t)NLMSG_LENGTH(sizeof *said) || h->nlmsg_type != NLMSG_ERROR) fail("no answer about the queue on %s", queue->device);
	if (said->error) {
		errno = -said->error;
		fail("the queue on %s does not go", queue->device);
	}
	queue->off = 1;
	fprintf(samples, "removed %llu %d\n", (unsigned long long)now(), number);
}

/* A queue stands, and its discipline has this handle. */
static void queue_placed(int number, const char *handle) {
	queues[number].off = 0;
	queues[number].handle = (uint32_t)strtoul(handle, 0, 16) << 16;
	fprintf(samples, "placed %llu %d\n", (unsigned long long)now(), number);
}

/* --- policers ------------------------------------------------------------------------------------------------- */

/* What has come to a policer and what it has dropped; one that is switched off is not there, and has no line. */
/* What an action of tc has counted; 0 where there is none of this number. */
static int action_counts(int netlink, const char *kind, uint32_t index, uint32_t *packets, uint32_t *drops) {
	struct {
		struct nlmsghdr h;
		struct tcamsg t;
		struct rtattr table, action, kind;
		char name[8];
		struct rtattr index;
		uint32_t value;
	} request = {
		.h = {.nlmsg_len = sizeof request, .nlmsg_type = RTM_GETACTION, .nlmsg_flags = NLM_F_REQUEST, .nlmsg_seq = 1},
		.t = {.tca_family = AF_UNSPEC},
		.table = {.rta_len = 36, .rta_type = 1 /* TCA_ACT_TAB */},
		.action = {.rta_len = 32, .rta_type = 1 /* its place */},
		.kind = {.rta_len = (unsigned short)(sizeof(struct rtattr) + strlen(kind) + 1), .rta_type = 1 /* TCA_ACT_KIND */},
		.index = {.rta_len = 8, .rta_type = 3 /* TCA_ACT_INDEX */},
		.value = index,
	};
	/* An attribute begins at a multiple of 4: "police" and its end take 7 of the 8, "gact" and its end 5. */
	snprintf(request.name, sizeof request.name, "%s", kind);
	request.action.rta_len = sizeof request.action + sizeof request.kind + sizeof request.name + sizeof request.index + sizeof request.value;
	request.table.rta_len = (unsigned short)(sizeof request.table + request.action.rta_len);
	static uint8_t reply[1 << 14];
	if (send(netlink, &request, sizeof request, 0) < 0) fail("netlink");
	ssize_t size = recv(netlink, reply, sizeof reply, MSG_DONTWAIT);
	if (size <= 0) fail("no answer about a policer");
	struct nlmsghdr *h = (void *)reply;
	if (h->nlmsg_type == NLMSG_ERROR) return 0;
	int left = (int)h->nlmsg_len - (int)NLMSG_LENGTH(sizeof(struct tcamsg));
	struct rtattr *table = (void *)((char *)NLMSG_DATA(h) + NLMSG_ALIGN(sizeof(struct tcamsg)));
	if (!RTA_OK(table, left)) return 0;
	struct rtattr *action = RTA_DATA(table);
	struct gnet_stats_basic basic = {0};
	struct gnet_stats_queue q = {0};
	int in_action = (int)RTA_PAYLOAD(action);
	for (struct rtattr *a = RTA_DATA(action); RTA_OK(a, in_action); a = RTA_NEXT(a, in_action)) {
		if ((a->rta_type & NLA_TYPE_MASK) != 4 /* TCA_ACT_STATS */) continue;
		int inner = (int)RTA_PAYLOAD(a);
		for (struct rtattr *s = RTA_DATA(a); RTA_OK(s, inner); s = RTA_NEXT(s, inner)) {
			if (s->rta_type == TCA_STATS_BASIC) memcpy(&basic, RTA_DATA(s), sizeof basic < RTA_PAYLOAD(s) ? sizeof basic : RTA_PAYLOAD(s));
			if (s->rta_type == TCA_STATS_QUEUE) memcpy(&q, RTA_DATA(s), sizeof q);
		}
	}
	*packets = basic.packets;
	*drops = q.drops;
	return 1;
}

static void sample_policer(int number, uint64_t t) {
	struct policer *p = &policers[number];
	uint32_t packets, drops, marks = 0, none;
	if (!action_counts(p->socket, "police", p->index, &packets, &drops)) return;
	if (p->marks && (!action_counts(p->socket, "gact", p->marks, &marks, &none) || !action_counts(p->socket, "gact", p->drops, &drops, &none))) return;
	fprintf(samples, "police %llu %d %u %u %u\n", (unsigned long long)t, number, packets, drops, marks);
}

/* --- flows ---------------------------------------------------------------------------------------------------- */

static void set_number(int fd, int level, int option, int value, const char *what) {
	if (setsockopt(fd, level, option, &value, sizeof value)) fail("%s", what);
}

/* The traffic class of what a socket sends. */
static void set_class(int fd, const char *ip, int tos) {
	if (is_v6(ip)) set_number(fd, IPPROTO_IPV6, IPV6_TCLASS, tos, "IPV6_TCLASS");
	else set_number(fd, IPPROTO_IP, IP_TOS, tos, "IP_TOS");
}

static int asks_and_answers(const struct flow *f) { return f->kind == SHORT || f->kind == STREAM; }

/* What a TCP flow asks of each of its sockets before there is a connection. */
static void prepare(int fd, const struct flow *f, const char *own) {
	/* The echo of DCTCP's and its like's marks is the receiver's congestion control's part. */
	if (setsockopt(fd, IPPROTO_TCP, OPT_TCP_CONGESTION, f->cc, (socklen_t)strlen(f->cc))) fail("congestion control %s", f->cc);
	set_class(fd, own, f->tos);
}

static void limit_window(int fd, const struct flow *f) {
	if (!f->window) return;
	set_number(fd, SOL_SOCKET, OPT_RCVBUFFORCE, (int)(2 * f->window), "SO_RCVBUFFORCE");
	set_number(fd, IPPROTO_TCP, OPT_TCP_WINDOW_CLAMP, (int)f->window, "TCP_WINDOW_CLAMP");
}

static void limit_sender(int fd, const struct flow *f) {
	if (f->buffer) set_number(fd, SOL_SOCKET, OPT_SNDBUFFORCE, (int)f->buffer, "SO_SNDBUFFORCE");
	if (f->pace && setsockopt(fd, SOL_SOCKET, OPT_MAX_PACING_RATE, &f->pace, sizeof f->pace)) fail("SO_MAX_PACING_RATE");
}

/* Connects with the ECN that the flow asks for. Flows the other way, whose requests come here, find what the namespace had. */
static void connect_to(int fd, const struct flow *f, const char *ip, int port) {
	char value[16], before[16];
	struct endpoint to = endpoint(ip, port);
	if (read_text("/proc/sys/net/ipv4/tcp_ecn", before, sizeof before)) fail("tcp_ecn");
	snprintf(value, sizeof value, "%d", f->ecn);
	if (write_text("/proc/sys/net/ipv4/tcp_ecn", value)) fail("tcp_ecn %d", f->ecn);
	if (connect(fd, (void *)&to.at, to.size) && errno != EINPROGRESS) fail("connect");
	if (write_text("/proc/sys/net/ipv4/tcp_ecn", before)) fail("tcp_ecn");
}

/* The end that waits: the receiver of a flow's data, or its sender where it answers to requests. */
static void listen_for(int i) {
	struct flow *f = &flows[i];
	int answers = asks_and_answers(f), stream = f->kind == TCP || answers;
	const char *own = answers ? f->tx_address : f->rx_address;
	enter(answers ? f->tx : f->rx);
	struct endpoint a = endpoint(own, (answers ? PORT_SENDER : PORT_RECEIVER) + i);
	int fd = socket(family(own), (stream ? SOCK_STREAM : SOCK_DGRAM) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0) fail("socket");
	set_number(fd, SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
	if (stream) {
		prepare(fd, f, own);
		if (answers) limit_sender(fd, f); else limit_window(fd, f);
		if (f->kind == STREAM) set_number(fd, IPPROTO_TCP, OPT_TCP_NOTSENT_LOWAT, (int)(2 * f->piece), "TCP_NOTSENT_LOWAT");
	} else {
		set_class(fd, own, f->tos);
		set_number(fd, SOL_SOCKET, OPT_RCVBUFFORCE, 1 << 22, "SO_RCVBUFFORCE");
	}
	if (bind(fd, (void *)&a.at, a.size) || (stream && listen(fd, 128))) fail("listen on %s", own);
	if (stream) f->listener = fd; else f->receiver = fd;
	watch(fd, EPOLLIN, tag(i, stream ? LISTENER : RECEIVER));
}

static void happened(const char *what, uint64_t t, int i, const char *why) {
	fprintf(samples, "%s %llu %d %s\n", what, (unsigned long long)t, i, why);
}

/* Reads the next of a flow's list, if it has one: when it is due. */
static uint64_t next_of_list(struct flow *f) {
	if (fread(&f->listed, sizeof f->listed, 1, f->list) != 1) return NEVER;
	return f->base + f->listed.at;
}

static void end_flow(int i, uint64_t t, const char *why);

/* --- programs ------------------------------------------------------------------------------------------------- */

/* What a program may write before it is said to flood, and how many processes and threads the two ends may have. */
#define OUTPUT_KEPT (4u << 20)
#define PROCESSES 512
#define SERVER_PATIENCE 60000000000u
#define LAST_WORDS 1000000000u

/* Of a flow of programs: the server and the client. */
enum side { SERVER_SIDE, CLIENT_SIDE };

struct ended { pid_t pid; int pidfd, out, status, gone; uint64_t written, line_at; unsigned used; char line[4096]; };
struct program {
	const char *ns[2], *name[2], *order[2], *ready;
	char *file[2];
	size_t size[2];
	struct ended side[2];
	uint64_t within, began, ready_after;
	struct sockets *sockets;
	int has_server, sender, wanted, port, seen, serves, stopping;
};

static void open_sockets(int i);
static void failed(int i, enum side side, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The lines that a program has begun and not ended count, too. */
static void put_line(int i, enum side side) {
	struct ended *e = &flows[i].program->side[side];
	if (!e->used) return;
	fprintf(samples, "output %llu %d %d ", (unsigned long long)e->line_at, i, (int)side);
	for (unsigned k = 0; k < e->used; k++) fprintf(samples, "%02x", (uint8_t)e->line[k]);
	fputc('\n', samples);
	e->used = 0;
}

/* A program of a flow did what ends the run. */
static void failed(int i, enum side side, const char *format, ...) {
	char text[512];
	va_list list;
	va_start(list, format);
	vsnprintf(text, sizeof text, format, list);
	va_end(list);
	put_line(i, SERVER_SIDE);
	put_line(i, CLIENT_SIDE);
	fprintf(samples, "failed %d %d %s\n", i, (int)side, text);
	leave();
}

/* What a program wrote, line by line. */
static void read_output(int i, enum side side, uint64_t t) {
	struct program *p = flows[i].program;
	struct ended *e = &p->side[side];
	static char text[1 << 16];
	ssize_t n;
	if (e->out < 0) return;
	while ((n = read(e->out, text, sizeof text)) > 0) {
		e->written += (uint64_t)n;
		for (ssize_t k = 0; k < n; k++) {
			if (!e->used) e->line_at = t;
			int ends = text[k] == '\n';
			if (!ends) e->line[e->used++] = text[k];
			if (ends || e->used == sizeof e->line - 1 || k + 1 == n) {
				e->line[e->used] = 0;
				if (p->ready && side == SERVER_SIDE && strstr(e->line, p->ready)) p->seen = 1;
			}
			if (ends && !e->used) fprintf(samples, "output %llu %d %d -\n", (unsigned long long)t, i, (int)side);
			if (ends || e->used == sizeof e->line - 1) put_line(i, side);
		}
		if (e->written > OUTPUT_KEPT) failed(i, side, "wrote more than %u MiB of output; let it write into a file", OUTPUT_KEPT >> 20);
	}
	if (n == 0) {
		epoll_ctl(epoll, EPOLL_CTL_DEL, e->out, 0);
		close(e->out);
		e->out = -1;
	}
}

static void must(int wrong, const char *what) {
	if (!wrong) return;
	dprintf(2, "sojourn: %s: %s\n", what, strerror(errno));
	_exit(126);
}

static void make_file(const char *path, const char *text) {
	int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0755);
	must(fd < 0 || write(fd, text, strlen(text)) < 0, path);
	close(fd);
}

static void make_device(const char *path, unsigned major, unsigned minor) {
	must(mknod(path, S_IFCHR | 0666, (dev_t)(major << 8 | minor)) || chmod(path, 0666), path);
}

/* The machine's files as a program sees them: read-only, but for folders of its own that nobody keeps. */
static void furnish(const char *names) {
	static const char *const own[] = {"/tmp", "/var/tmp", "/var/log", "/dev", "/run", 0};
	must(unshare(CLONE_NEWNS) || mount(0, "/", 0, MS_REC | MS_PRIVATE, 0), "a view of its own");
	/* Where the machine has no such folder, a program cannot write there. */
	for (int k = 0; own[k]; k++)
		if (mount("own", own[k], "tmpfs", MS_NOSUID, "mode=0777,size=256m") && k == 0) must(1, own[k]);
	make_device("/dev/null", 1, 3);
	make_device("/dev/zero", 1, 5);
	make_device("/dev/full", 1, 7);
	make_device("/dev/random", 1, 8);
	make_device("/dev/urandom", 1, 9);
	must(symlink("/proc/self/fd", "/dev/fd") || symlink("/proc/self/fd/0", "/dev/stdin")
		|| symlink("/proc/self/fd/1", "/dev/stdout") || symlink("/proc/self/fd/2", "/dev/stderr"), "/dev");
	must(mkdir("/dev/shm", 0777) || mkdir("/dev/pts", 0755), "/dev");
	mount("pts", "/dev/pts", "devpts", 0, "ptmxmode=0666,newinstance");
	if (symlink("pts/ptmx", "/dev/ptmx")) {}
	/* The guest's names come from a file, and no server is asked. */
	make_file("/run/hosts", names);
	make_file("/run/resolv.conf", "");
	make_file("/run/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n");
	mount("/run/hosts", "/etc/hosts", 0, MS_BIND, 0);
	mount("/run/resolv.conf", "/etc/resolv.conf", 0, MS_BIND, 0);
	mount("/run/nsswitch.conf", "/etc/nsswitch.conf", 0, MS_BIND, 0);
	/* The kernel's switches are not a program's. */
	static const char *const locked[] = {"/proc/sys", "/proc/sysrq-trigger", "/sys", 0};
	for (int k = 0; locked[k]; k++)
		must(mount(locked[k], locked[k], 0, MS_BIND | MS_REC, 0) || mount(0, locked[k], 0, MS_BIND | MS_REMOUNT | MS_RDONLY, 0), locked[k]);
	must(chdir("/tmp"), "/tmp");
}

/* What a server needs beyond an ordinary user's rights, and nothing that reaches the guest. */
static void drop_rights(void) {
	static const int kept[] = {0 /* CHOWN */, 1 /* DAC_OVERRIDE */, 3 /* FOWNER */, 5 /* KILL */, 6 /* SETGID */, 7 /* SETUID */,
		10 /* NET_BIND_SERVICE */, 13 /* NET_RAW */};
	for (int cap = 0; cap < 64; cap++) {
		int keep = 0;
		for (unsigned k = 0; k < sizeof kept / sizeof *kept; k++) keep |= kept[k] == cap;
		if (!keep) prctl(PR_CAPBSET_DROP, cap, 0, 0, 0); /* fails behind the last that there is */
	}
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/* Becomes the program that a file tells of: strings that end with NUL, each with a letter in front: the guest's names (h), a
 * word of the command (a), a variable (e), a file's name (n), its text (t). The names are first. */
static void become(const char *text, size_t size) {
	char *words[1024] = {0}, *variables[256] = {0};
	const char *name = 0;
	int n = 0, v = 0;
	for (const char *at = text; at < text + size; at += strlen(at) + 1) {
		if (*at == 'h') furnish(at + 1);
		else if (*at == 'a' && n < 1023) words[n++] = (char *)at + 1;
		else if (*at == 'e' && v < 255) variables[v++] = (char *)at + 1;
		else if (*at == 'n') name = at + 1;
		else if (*at == 't' && name) {
			char folder[4096];
			snprintf(folder, sizeof folder, "%s", name);
			for (char *c = strchr(folder, '/'); c; c = strchr(c + 1, '/')) {
				*c = 0;
				mkdir(folder, 0755);
				*c = '/';
			}
			make_file(name, at + 1);
		}
	}
	drop_rights();
	execve(words[0], words, variables);
	dprintf(2, "sojourn: cannot run %s: %s\n", words[0], strerror(errno));
	_exit(127);
}

static void cgroup_path(char *path, size_t size, int i, const char *file) { snprintf(path, size, "/run/cgroup/flow%d/%s", i, file); }

static void start_program(int i, enum side side, uint64_t t) {
	struct flow *f = &flows[i];
	struct program *p = f->program;
	struct ended *e = &p->side[side];
	int pipes[2];
	char group[64];
	cgroup_path(group, sizeof group, i, "cgroup.procs");
	if (pipe2(pipes, O_CLOEXEC | O_NONBLOCK)) fail("pipe");
	enter(p->ns[side]);
	fflush(samples);
	e->pid = fork();
	if (e->pid < 0) fail("cannot start %s", p->name[side]);
	if (e->pid == 0) {
		setsid();
		/* Nothing of the agent's own time must be left undone in a copy of its buffers. */
		dup2(open("/dev/null", O_RDONLY), 0);
		dup2(pipes[1], 1);
		dup2(pipes[1], 2);
		fcntl(1, F_SETFL, 0);
		struct rlimit none = {0, 0};
		setrlimit(RLIMIT_CORE, &none);
		must(write_text(group, "0"), "its group");
		become(p->file[side], p->size[side]);
	}
	close(pipes[1]);
	e->out = pipes[0];
	e->pidfd = (int)syscall(SYS_pidfd_open, e->pid, 0);
	if (e->pidfd < 0) fail("pidfd");
	watch(e->out, EPOLLIN, tag(i, (int)side));
	watch(e->pidfd, EPOLLIN, tag(i, 2 + (int)side));
	if (side == CLIENT_SIDE) {
		p->serves = 1;
		p->began = t;
		happened("start", t, i, "-");
		f->next = p->within ? t + p->within : NEVER;
	}
}

/* Whether somebody listens in this namespace, on a port if one is named; on the loopback address nobody is reached. */
static int listens(const char *ns, int port) {
	static const struct { const char *file; unsigned state; } tables[] = {
		{"/proc/self/net/tcp", 10}, {"/proc/self/net/tcp6", 10}, {"/proc/self/net/udp", 7}, {"/proc/self/net/udp6", 7}};
	enter(ns);
	for (unsigned k = 0; k < sizeof tables / sizeof *tables; k++) {
		FILE *table = fopen(tables[k].file, "re");
		char line[512], at[64];
		unsigned bound, state;
		if (!table) continue;
		while (fgets(line, sizeof line, table)) {
			if (sscanf(line, " %*[^:]: %63[0-9A-F]:%x %*[0-9A-F]:%*x %x", at, &bound, &state) != 3 || state != tables[k].state) continue;
			if (!strcmp(at, "0100007F") || !strcmp(at, "00000000000000000000000001000000")) continue;
			if (port && bound != (unsigned)port) continue;
			fclose(table);
			return 1;
		}
		fclose(table);
	}
	return 0;
}

static int is_ready(struct program *p, uint64_t t) {
	if (p->ready) return p->seen;
	if (p->ready_after != NEVER) return t - p->began >= p->ready_after;
	return listens(p->ns[SERVER_SIDE], p->port);
}

static void end_programs(int i) {
	char path[64];
	cgroup_path(path, sizeof path, i, "cgroup.kill");
	write_text(path, "1");
}

/* The next look at a flow of programs: whether the server is ready, whether the client has had its time, whether all are to go. */
static void look_at_program(int i, uint64_t t) {
	struct flow *f = &flows[i];
	struct program *p = f->program;
	if (p->stopping) {
		end_programs(i);
		f->next = NEVER;
	} else if (!p->serves) {
		read_output(i, SERVER_SIDE, t);
		if (is_ready(p, t)) {
			start_program(i, CLIENT_SIDE, t);
			return;
		}
		uint64_t waited = t - p->began;
		if (waited >= SERVER_PATIENCE) failed(i, SERVER_SIDE, "was not ready after %u s", (unsigned)(SERVER_PATIENCE / 1000000000u));
		f->next = t + (waited / 16 > 1000000 ? waited / 16 : 1000000);
	} else {
		failed(i, CLIENT_SIDE, "still ran after the %g s that it was given", (double)p->within / 1e9);
	}
}

static void start_programs(int i, uint64_t t) {
	struct flow *f = &flows[i];
	struct program *p = f->program;
	char path[64], number[16];
	cgroup_path(path, sizeof path, i, "");
	if (mkdir(path, 0755)) fail("a group for the programs");
	cgroup_path(path, sizeof path, i, "pids.max");
	snprintf(number, sizeof number, "%d", PROCESSES);
	if (write_text(path, number)) fail("this kernel cannot bound the number of processes; build it anew");
	p->began = t;
	open_sockets(i);
	if (!p->has_server) {
		start_program(i, CLIENT_SIDE, t);
		return;
	}
	start_program(i, SERVER_SIDE, t);
	f->next = t;
}

static void describe_end(int status, char *text, size_t size) {
	if (WIFSIGNALED(status)) snprintf(text, size, "was ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
	else snprintf(text, size, "ended with exit status %d", WEXITSTATUS(status));
}

/* Where too many processes were asked for, the run is not what it would have been. */
static void count_processes(int i) {
	char path[64], text[256];
	cgroup_path(path, sizeof path, i, "pids.events");
	if (read_text(path, text, sizeof text)) return;
	char *most = strstr(text, "max ");
	if (most && strtoull(most + 4, 0, 10)) failed(i, CLIENT_SIDE, "or its server wanted more than %d processes and threads", PROCESSES);
}

static void program_gone(int i, enum side side, uint64_t t) {
	struct flow *f = &flows[i];
	struct program *p = f->program;
	struct ended *e = &p->side[side];
	char how[128];
	if (e->gone) return;
	if (waitpid(e->pid, &e->status, WNOHANG) != e->pid) return;
	e->gone = 1;
	epoll_ctl(epoll, EPOLL_CTL_DEL, e->pidfd, 0);
	close(e->pidfd);
	read_output(i, side, t);
	describe_end(e->status, how, sizeof how);
	if (f->life != RUNNING) return;
	int good = WIFEXITED(e->status) && WEXITSTATUS(e->status) == (side == CLIENT_SIDE ? p->wanted : 0);
	count_processes(i);
	/* A server that has put itself into the background is gone, and serves. */
	if (!good && side == CLIENT_SIDE) failed(i, side, "%s, and %d is what it should end with", how, p->wanted);
	if (!good) failed(i, side, "%s before its client", how);
	if (side == CLIENT_SIDE) end_flow(i, t, how);
}

/* The end of a flow of programs: they are asked to go, and have a second for it. */
static void stop_programs(int i, uint64_t t) {
	struct program *p = flows[i].program;
	if (!p->serves) failed(i, SERVER_SIDE, "was not ready when the flow ended");
	for (int side = 0; side < 2; side++)
		if (p->side[side].pid > 0 && !p->side[side].gone) kill(p->side[side].pid, SIGTERM);
	p->stopping = 1;
	flows[i].next = t + LAST_WORDS;
}

static void read_program_files(int i) {
	struct program *p = flows[i].program;
	for (int side = 0; side < 2; side++) {
		char path[128];
		struct stat what;
		p->side[side].out = -1;
		if (side == SERVER_SIDE && !p->has_server) continue;
		snprintf(path, sizeof path, FOLDER "/%s", p->order[side]);
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || fstat(fd, &what)) fail("%s", path);
		p->size[side] = (size_t)what.st_size;
		p->file[side] = malloc(p->size[side] + 1);
		for (size_t done = 0; done < p->size[side];) {
			ssize_t n = read(fd, p->file[side] + done, p->size[side] - done);
			if (n <= 0) fail("%s", path);
			done += (size_t)n;
		}
		close(fd);
	}
}

static int sends_data(int flow, int end) { return (end == 1) == (flows[flow].program->sender == SERVER_SIDE); }

static void start_connections(int i, uint64_t t, uint64_t planned);
static void open_connection(int i, uint64_t t, uint64_t bytes);
static void stream_due(int i, uint64_t t);
static void stop_stream(int i, uint64_t t);
static void sum_connections(int i, struct sums *sums);
static void connection_ready(uint32_t events, unsigned slot, int end, uint64_t t);
static void accept_connection(int i, int fd, uint64_t t);

/* When a writer next writes, begins or ceases. */
static void writer_next(struct flow *f, uint64_t pulse) {
	f->due = pulse;
	f->next = pulse < f->piece_at ? pulse : f->piece_at;
}

/* The first segment of a clock that begins now, or none. */
static void writer_clock(struct flow *f, uint64_t t, int runs) {
	f->clock = t;
	f->pieces = 0;
	f->piece_at = runs ? t : NEVER;
}

static void start_writer(struct flow *f, uint64_t planned) {
	f->allowed = 0;
	f->base = planned;
	writer_clock(f, planned, !f->list);
	writer_next(f, f->list ? next_of_list(f) : NEVER);
}

static void write_more(int i, uint64_t t);

/* What a writer does at its time: an on or off period begins before a segment is written, as in the simulator. */
static void writer_due(int i, uint64_t t) {
	struct flow *f = &flows[i];
	if (f->due <= t) {
		f->is_on = f->listed.bytes != 0;
		writer_clock(f, t, f->is_on && f->rate);
		if (f->is_on && !f->rate) f->allowed = NEVER;
		/* What the kernel has not taken is not sent. */
		else if (!f->is_on) f->allowed = f->sent;
		writer_next(f, next_of_list(f));
	} else {
		f->allowed += f->piece;
		f->pieces++;
		/* Exact in the long run, as that of datagrams. */
		f->piece_at = f->clock + (uint64_t)((unsigned __int128)f->pieces * f->piece * 8u * 1000000000u / f->rate);
		if (f->bytes && f->allowed >= f->bytes) f->piece_at = NEVER;
		writer_next(f, f->due);
	}
	write_more(i, t);
}

static void start_flow(int i, uint64_t t) {
	struct flow *f = &flows[i];
	/* A list's times are those of the plan, to the nanosecond. */
	uint64_t planned = f->start == NEVER ? t : f->start;
	f->life = RUNNING;
	f->start = NEVER;
	if (f->kind == PROGRAM) {
		start_programs(i, t);
		return;
	}
	happened("start", t, i, "-");
	if (asks_and_answers(f)) {
		start_connections(i, t, planned);
		return;
	}
	enter(f->tx);
	if (f->kind == PING) {
		int v6 = is_v6(f->tx_address);
		f->sender = socket(family(f->tx_address), SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP);
		if (f->sender < 0) fail("raw socket");
		set_class(f->sender, f->tx_address, f->tos);
		watch(f->sender, EPOLLIN, tag(i, SENDER));
		f->next = t;
		return;
	}
	struct endpoint from = endpoint(f->tx_address, PORT_SENDER + i), to = endpoint(f->rx_address, PORT_RECEIVER + i);
	f->sender = socket(family(f->tx_address), (f->kind == TCP ? SOCK_STREAM : SOCK_DGRAM) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (f->sender < 0) fail("socket");
	set_number(f->sender, SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
	set_class(f->sender, f->tx_address, f->tos);
	if (bind(f->sender, (void *)&from.at, from.size)) fail("bind");
	if (f->kind != TCP) {
		if (connect(f->sender, (void *)&to.at, to.size)) fail("connect");
		if (f->kind == IRTT || f->asks) watch(f->sender, EPOLLIN, tag(i, SENDER));
		f->base = f->list ? planned : t;
		if (f->asks) {
			const char *answer = ask("%d %llu start", i, (unsigned long long)planned);
			f->due = next_number(&answer);
			f->report = planned + 1000000000u;
			f->next = f->due < f->report ? f->due : f->report;
		} else {
			f->next = f->list ? next_of_list(f) : t;
		}
		return;
	}
	prepare(f->sender, f, f->tx_address);
	limit_sender(f->sender, f);
	if (f->writes) {
		set_number(f->sender, IPPROTO_TCP, OPT_TCP_NODELAY, 1, "TCP_NODELAY");
		/* What it gives up when it goes off must not wait in the kernel. */
		if (f->list) set_number(f->sender, IPPROTO_TCP, OPT_TCP_NOTSENT_LOWAT, (int)(2 * f->piece), "TCP_NOTSENT_LOWAT");
		start_writer(f, planned);
	}
	connect_to(f->sender, f, f->rx_address, PORT_RECEIVER + i);
	watch(f->sender, EPOLLOUT, tag(i, SENDER));
	f->wanting = 1;
}

#include "sockets.h"

static int numbers(int fd, struct tcp_numbers *n) {
	socklen_t size = sizeof *n;
	memset(n, 0, sizeof *n);
	return fd < 0 ? -1 : getsockopt(fd, IPPROTO_TCP, OPT_TCP_INFO, n, &size);
}

static void sample_flow(int i, uint64_t t) {
	struct flow *f = &flows[i];
	typedef unsigned long long u;
	if (f->kind == UDP) fprintf(samples, "udp %llu %d %llu %llu %llu\n", (u)t, i, (u)f->sent, (u)f->received, (u)f->received_bytes);
	if (f->kind == PROGRAM && f->program->serves) {
		count_processes(i);
		sample_sockets(i, t);
	}
	if (f->kind == SHORT) {
		struct sums s = f->gone;
		sum_connections(i, &s);
		fprintf(samples, "many %llu %d %llu %llu %llu %llu %llu %llu\n", (u)t, i, (u)f->received_bytes, (u)s.sent, (u)s.retransmits, (u)s.lost,
			(u)s.delivered, (u)s.in_flight);
	}
	if (f->kind != TCP && f->kind != STREAM) return;
	struct tcp_numbers n, r;
	if (numbers(f->sender, &n)) return;
	if (numbers(f->receiver, &r)) r.bytes_received = f->received;
	fprintf(samples, "tcp %llu %d %llu %llu %llu %u %u %u %u %u %u %u %u %u %u %u %u %u %u %u %llu %u %u %llu %llu %llu %u",
		(u)t, i, (u)r.bytes_received, (u)n.delivery_rate, (u)n.pacing_rate, n.rtt, n.rttvar, n.min_rtt, n.snd_cwnd, n.snd_ssthresh,
		n.unacked, n.sacked, n.lost, n.retrans, n.total_retrans, n.delivered, n.delivered_ce, n.ca_state, n.options, n.data_segs_out,
		(u)n.bytes_acked, n.snd_wnd, n.reordering, (u)n.busy_time, (u)n.rwnd_limited, (u)n.sndbuf_limited, n.dsack_dups);
	uint8_t own[64];
	socklen_t size = sizeof own;
	if (getsockopt(f->sender, IPPROTO_TCP, OPT_TCP_CC_INFO, own, &size)) size = 0;
	fputs(size ? " " : " -", samples);
	for (unsigned k = 0; k < size; k++) fprintf(samples, "%02x", own[k]);
	fputc('\n', samples);
}

static void end_flow(int i, uint64_t t, const char *why) {
	struct flow *f = &flows[i];
	if (f->life != RUNNING) { f->life = ENDED; return; }
	sample_flow(i, t);
	f->life = ENDED;
	f->next = NEVER;
	f->stop = NEVER;
	if (f->kind == PROGRAM) stop_programs(i, t);
	/* At the run's end nobody is stopped. */
	if (f->kind == STREAM && t < length) stop_stream(i, t);
	happened("end", t, i, why);
	if (f->kind == TCP && f->sender >= 0) {
		epoll_ctl(epoll, EPOLL_CTL_DEL, f->sender, 0);
		struct linger abort = {1, 0};
		setsockopt(f->sender, SOL_SOCKET, SO_LINGER, &abort, sizeof abort);
		/* The socket goes when its writer has left it. */
		if (f->has_writer) pthread_kill(f->writer, SIGUSR1);
		close(f->sender);
		f->sender = -1;
	}
}

/* Whether a sender is told when it can write: only while it has something to. */
static void want_room(int i, int wanting) {
	struct flow *f = &flows[i];
	if (f->wanting == wanting) return;
	f->wanting = wanting;
	struct epoll_event event = {.events = wanting ? EPOLLOUT : 0, .data.u64 = tag(i, SENDER)};
	epoll_ctl(epoll, EPOLL_CTL_MOD, f->sender, &event);
}

/* A flow that always has data has a thread for each end, which waits in the kernel for all of a call: what comes and goes between
 * them does not come up to user space, of which each turn costs more than the packet. What they do is what a loop of
 * small calls does: the kernel reads and writes as soon as it can. */
static int is_endless(const struct flow *f) { return f->kind == TCP && !f->bytes && !f->writes; }

static void *write_for_ever(void *of) {
	struct flow *f = of;
	enum { PIECES = 1024 };
	static struct iovec pieces[PIECES];
	for (int k = 0; k < PIECES; k++) pieces[k] = (struct iovec){bulk, sizeof bulk};
	struct msghdr message = {.msg_iov = pieces, .msg_iovlen = PIECES};
	/* How much is written at a time matters where the buffer is small: within a call the kernel looks for room only when it begins
	 * another 64 kB, and what it sends in the meantime makes room in those. iperf3 writes so much. */
	struct iovec block = {bulk, 128 << 10};
	if (f->buffer) message = (struct msghdr){.msg_iov = &block, .msg_iovlen = 1};
	while (f->life == RUNNING)
		if (sendmsg(f->sender, &message, MSG_NOSIGNAL) < 0 && errno != EINTR) {
			f->error = errno;
			break;
		}
	return 0;
}

static void *read_for_ever(void *of) {
	struct flow *f = of;
	int fd = f->receiver;
	/* Nothing is copied. */
	while (recv(fd, bulk, 1u << 30, MSG_TRUNC | MSG_WAITALL) > 0) {}
	return 0;
}

static void wake(int number) { (void)number; }

static void begin_thread(pthread_t *thread, void *(*what)(void *), struct flow *f, int fd) {
	if (fcntl(fd, F_SETFL, 0)) fail("a socket that waits");
	int wrong = pthread_create(thread, 0, what, f);
	errno = wrong;
	if (wrong) fail("a thread");
}

/* Writes up to so many bytes. What may be given up again is kept out of the kernel (`lean`): there, a few segments wait beyond
 * what its window lets go, enough to use the window up. Returns what was written. */
static uint64_t put(int fd, uint64_t bytes, uint64_t piece, int lean) {
	uint64_t done = 0;
	while (done < bytes) {
		uint64_t want = lean ? 4 * piece : sizeof bulk / 2;
		int unsent = 0;
		if (lean && (ioctl(fd, ASK_UNSENT, &unsent) || (uint64_t)unsent >= 2 * piece)) break;
		if (bytes - done < want) want = bytes - done;
		ssize_t sent = send(fd, bulk, want, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (sent <= 0) break;
		done += (uint64_t)sent;
	}
	return done;
}

static void write_more(int i, uint64_t t) {
	struct flow *f = &flows[i];
	struct tcp_numbers n;
	if (f->life != RUNNING || f->sender < 0) return;
	if (is_endless(f)) {
		/* It is connected. Of the socket only an error is still told. */
		if (f->has_writer) return;
		f->has_writer = 1;
		struct epoll_event event = {.events = 0, .data.u64 = tag(i, SENDER)};
		epoll_ctl(epoll, EPOLL_CTL_MOD, f->sender, &event);
		begin_thread(&f->writer, write_for_ever, f, f->sender);
		return;
	}
	if (!f->bytes || f->sent < f->bytes) {
		uint64_t until = f->writes ? f->allowed : NEVER;
		if (f->bytes && f->bytes < until) until = f->bytes;
		if (f->sent < until) f->sent += put(f->sender, until - f->sent, f->piece, f->writes && f->list);
		if (f->writes) want_room(i, f->sent < until);
	}
	if (!f->bytes || f->sent < f->bytes) return;
	if (f->sent == f->bytes) {
		/* All written. The connection's end tells when all has been acknowledged. */
		f->sent++;
		shutdown(f->sender, SHUT_WR);
		struct epoll_event event = {.events = EPOLLRDHUP, .data.u64 = tag(i, SENDER)};
		epoll_ctl(epoll, EPOLL_CTL_MOD, f->sender, &event);
	} else if (!numbers(f->sender, &n) && n.bytes_acked >= f->bytes) {
		end_flow(i, t, "finished");
	}
}

static uint16_t checksum(const uint8_t *data, unsigned size) {
	uint32_t sum = 0;
	for (unsigned i = 0; i + 1 < size; i += 2) sum += be16(data + i);
	if (size & 1) sum += (uint32_t)data[size - 1] << 8;
	while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* What a call that adapts has received since it last told the engine. */
static void tell_arrivals(int i, uint64_t t) {
	struct flow *f = &flows[i];
	if (!f->come_used) return;
	f->come[f->come_used] = 0;
	ask("%d %llu came%s", i, (unsigned long long)t, f->come);
	f->come_used = 0;
}

/* The receiver of a call that adapts tells the sender what is missing: a report of RTCP with one block is 32 bytes. */
static void report_arrivals(int i, uint64_t t) {
	struct flow *f = &flows[i];
	uint32_t packet[8] = {htonl((uint32_t)f->reports++)};
	tell_arrivals(i, t);
	const char *answer = ask("%d %llu report", i, (unsigned long long)t);
	packet[1] = htonl((uint32_t)next_number(&answer));
	packet[2] = htonl((uint32_t)next_number(&answer));
	struct endpoint to = endpoint(f->tx_address, PORT_SENDER + i);
	sendto(f->receiver, packet, sizeof packet, MSG_DONTWAIT, (void *)&to.at, to.size);
	f->report += 1000000000u;
	f->next = f->due < f->report ? f->due : f->report;
}

/* A probe, datagram, connection or piece of data that is due. */
static void send_due(int i, uint64_t t) {
	struct flow *f = &flows[i];
	if (f->kind == PROGRAM) {
		look_at_program(i, t);
		return;
	}
	if (f->kind == TCP) {
		writer_due(i, t);
		return;
	}
	if (f->kind == SHORT) {
		uint64_t bytes = f->listed.bytes;
		f->next = next_of_list(f);
		open_connection(i, t, bytes);
		return;
	}
	if (f->kind == STREAM) {
		stream_due(i, t);
		return;
	}
	if (f->asks && f->report <= t) {
		report_arrivals(i, t);
		return;
	}
	uint8_t packet[65536] = {0};
	uint32_t number = (uint32_t)f->sent;
	if (f->kind == PING) {
		int v6 = is_v6(f->rx_address);
		unsigned size = (unsigned)f->payload - 20;
		struct endpoint to = endpoint(f->rx_address, 0);
		packet[0] = v6 ? 128 : 8;
		packet[4] = (uint8_t)(i >> 8);
		packet[5] = (uint8_t)i;
		packet[6] = (uint8_t)(number >> 8);
		packet[7] = (uint8_t)number;
		memcpy(packet + 8, &t, sizeof t);
		/* Of version 6 the kernel computes it. */
		uint16_t sum = v6 ? 0 : checksum(packet, size);
		packet[2] = (uint8_t)(sum >> 8);
		packet[3] = (uint8_t)sum;
		sendto(f->sender, packet, size, 0, (void *)&to.at, to.size);
		happened("probe", t, i, "-");
		f->next = t + f->interval;
	} else {
		uint32_t wire = htonl(number);
		if (f->list) f->payload = (int)f->listed.bytes;
		if (f->asks) {
			const char *answer = ask("%d %llu send", i, (unsigned long long)t);
			f->payload = (int)next_number(&answer);
			f->due = next_number(&answer);
			if (f->payload < 12) fail("a datagram of %d bytes has no room for its send time: let the call's least rate be higher", f->payload);
		}
		memcpy(packet, &wire, 4);
		memcpy(packet + 4, &t, sizeof t);
		send(f->sender, packet, (size_t)f->payload, MSG_DONTWAIT);
		if (f->kind == IRTT) {
			happened("probe", t, i, "-");
			f->next = t + f->interval;
		}
		/* Exact in the long run: the n-th datagram is due n payloads of time after the first. */
		else if (f->list) f->next = next_of_list(f);
		else if (f->asks) f->next = f->due < f->report ? f->due : f->report;
		else f->next = f->base + (uint64_t)((unsigned __int128)(f->sent + 1) * (unsigned)f->payload * 8u * 1000000000u / f->pace);
	}
	f->sent++;
}

static void receive(int i, uint64_t t) {
	struct flow *f = &flows[i];
	if (f->kind == TCP) {
		for (;;) {
			ssize_t n = recv(f->receiver, bulk, sizeof bulk, MSG_TRUNC | MSG_DONTWAIT);
			if (n < 0) {
				if (errno != EAGAIN && errno != EINTR) epoll_ctl(epoll, EPOLL_CTL_DEL, f->receiver, 0);
				break;
			}
			if (n == 0) {
				epoll_ctl(epoll, EPOLL_CTL_DEL, f->receiver, 0);
				shutdown(f->receiver, SHUT_WR);
				break;
			}
			f->received += (uint64_t)n;
			if (n < (ssize_t)sizeof bulk) break;
		}
		return;
	}
	ssize_t n;
	struct endpoint from = {.size = sizeof from.at};
	while ((n = recvfrom(f->receiver, bulk, sizeof bulk, MSG_DONTWAIT, (void *)&from.at, &from.size)) >= 12) {
		uint64_t sent;
		uint32_t number;
		memcpy(&number, bulk, 4);
		memcpy(&sent, bulk + 4, sizeof sent);
		number = ntohl(number);
		f->received++;
		f->received_bytes += (uint64_t)n;
		if (f->kind == IRTT) {
			sendto(f->receiver, bulk, (size_t)n, MSG_DONTWAIT, (void *)&from.at, from.size);
			fprintf(samples, "came %llu %d %llu\n", (unsigned long long)t, i, (unsigned long long)sent);
			continue;
		}
		if (f->asks) {
			f->come_used += (unsigned)snprintf(f->come + f->come_used, sizeof f->come - f->come_used, " %u", number);
			if (f->come_used > sizeof f->come - 16) tell_arrivals(i, t);
		}
		struct stamp s = {.at = t, .tap = 0xffff, .flow = (uint16_t)i, .protocol = IPPROTO_UDP};
		s.seq = (uint32_t)(t - sent > UINT32_MAX ? UINT32_MAX : t - sent);
		s.ack = number;
		put_stamps(&s, sizeof s);
	}
}

/* What comes back to the sender of probes and datagrams. */
static void replies(int i, uint64_t t) {
	struct flow *f = &flows[i];
	uint8_t packet[65536];
	ssize_t n;
	while ((n = recv(f->sender, packet, sizeof packet, MSG_DONTWAIT)) > 0) {
		uint64_t sent;
		if (f->asks) {
			if (n < 12 || f->life != RUNNING) continue;
			const char *answer = ask("%d %llu heard %u %u", i, (unsigned long long)t, be32(packet + 4), be32(packet + 8));
			f->due = next_number(&answer);
			f->next = f->due < f->report ? f->due : f->report;
			continue;
		}
		if (f->kind == IRTT) {
			if (n < 12) continue;
			memcpy(&sent, packet + 4, sizeof sent);
		} else {
			/* Of version 6 the header is not shown. */
			int v6 = is_v6(f->tx_address);
			uint8_t *icmp = packet + (v6 ? 0 : (packet[0] & 15) * 4);
			if (icmp[0] != (v6 ? 129 : 0) || be16(icmp + 4) != i) continue;
			memcpy(&sent, icmp + 8, sizeof sent);
		}
		fprintf(samples, "reply %llu %d %llu\n", (unsigned long long)t, i, (unsigned long long)sent);
	}
}

#include "connections.h"

/* --- the plan ------------------------------------------------------------------------------------------------- */

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

static void tell_clock(uint64_t t) {
	char text[32];
	int n = snprintf(text, sizeof text, "%020llu\n", (unsigned long long)t);
	if (pwrite(clock_fd, text, (size_t)n, 0) < 0) fail("cannot write the clock");
	fsync(clock_fd);
}

static void sample_all(uint64_t t) {
	for (int i = 0; i < n_taps; i++) drain_tap(i);
	for (int i = 0; i < n_captures; i++) drain_capture(i);
	for (int i = 0; i < n_flows; i++) if (flows[i].life == RUNNING) sample_flow(i, t);
	close_quiet_connections();
	for (int i = 0; i < n_queues; i++) sample_queue(i, t);
	for (int i = 0; i < n_policers; i++) sample_policer(i, t);
	for (;;) {
		/* Programs are not reaped here: each has its own watch. */
		siginfo_t gone = {0};
		int program = 0;
		if (waitid(P_ALL, 0, &gone, WEXITED | WNOHANG | WNOWAIT) || !gone.si_pid) break;
		for (int i = 0; n_programs && i < n_flows; i++) {
			if (flows[i].kind != PROGRAM) continue;
			for (int side = 0; side < 2; side++)
				if (flows[i].program->side[side].pid == gone.si_pid) program_gone(i, (enum side)side, t), program = 1;
		}
		if (program) continue;
		/* An event's command, which nobody has waited for. */
		int action = 0;
		while (action < n_actions && actions[action].pid != gone.si_pid) action++;
		if (action == n_actions) waitpid(gone.si_pid, 0, 0);
		else actions[action].pid = 0, reap(gone.si_pid, actions[action].argv);
	}
}

/* What is due at or before t, other than the sample. */
static void act(uint64_t t) {
	for (int i = 0; i < n_actions; i++) {
		struct action *a = &actions[i];
		if (a->done || a->at > t) continue;
		a->done = 1;
		fprintf(samples, "event %llu %d\n", (unsigned long long)t, a->number);
		if (a->argv[0] && !strcmp(a->argv[0], "start")) {
			if (flows[number_of(a->argv[1])].life == WAITING) start_flow((int)number_of(a->argv[1]), t);
		} else if (a->argv[0] && !strcmp(a->argv[0], "stop")) end_flow((int)number_of(a->argv[1]), t, "stopped");
		else if (a->argv[0] && !strcmp(a->argv[0], "remove")) remove_queue((int)number_of(a->argv[1]));
		else if (a->argv[0] && !strcmp(a->argv[0], "placed")) queue_placed((int)number_of(a->argv[1]), a->argv[2]);
		else if (a->argv[0] && !strcmp(a->argv[0], "tell")) put_queue("last", (int)number_of(a->argv[1]), now());
		else if (a->argv[0] && !strcmp(a->argv[0], "wait")) run(a->ns, a->argv + 1);
		/* Nothing to be done, as where something is switched on that is on. */
		else if (a->argv[0] && strcmp(a->argv[0], "nothing")) a->pid = spawn(a->ns, a->argv);
	}
	for (int i = 0; i < n_flows; i++) {
		struct flow *f = &flows[i];
		if (f->life == WAITING && f->start <= t) start_flow(i, t);
		if (f->stop <= t) end_flow(i, t, "stopped");
		while (f->next <= t) send_due(i, f->next);
	}
}

static uint64_t next_due(uint64_t sample) {
	uint64_t at = sample;
	for (int i = 0; i < n_actions; i++) if (!actions[i].done && actions[i].at < at) at = actions[i].at;
	for (int i = 0; i < n_flows; i++) {
		struct flow *f = &flows[i];
		if (f->life == WAITING && f->start < at) at = f->start;
		if (f->life == RUNNING && f->stop < at) at = f->stop;
		if (f->next < at) at = f->next;
	}
	return at;
}

static void set_timer(int fd, uint64_t at) {
	at += epoch;
	struct itimerspec when = {.it_value = {(time_t)(at / 1000000000u), (long)(at % 1000000000u)}};
	timerfd_settime(fd, TFD_TIMER_ABSTIME, &when, 0);
}

static void ready(struct epoll_event *event, uint64_t t) {
	if (event->data.u64 & OF_CONNECTION) {
		uint64_t of = event->data.u64 & ~OF_CONNECTION;
		connection_ready(event->events, (unsigned)(of / 2), (int)(of % 2), t);
		return;
	}
	int i = (int)(event->data.u64 / 4), end = (int)(event->data.u64 % 4);
	struct flow *f = &flows[i];
	if (f->kind == PROGRAM) {
		if (end < 2) read_output(i, (enum side)end, t);
		else program_gone(i, (enum side)(end - 2), t);
	} else if (end == LISTENER) {
		int fd = accept4(f->listener, 0, 0, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0) return;
		if (asks_and_answers(f)) {
			accept_connection(i, fd, t);
			return;
		}
		f->receiver = fd;
		if (is_endless(f)) {
			pthread_t reader;
			begin_thread(&reader, read_for_ever, f, fd);
			pthread_detach(reader);
			return;
		}
		watch(fd, EPOLLIN, tag(i, RECEIVER));
	} else if (end == RECEIVER) {
		receive(i, t);
	} else if (f->kind == PING || f->kind == IRTT || f->asks) {
		replies(i, t);
	} else if (event->events & (EPOLLERR | EPOLLHUP) && !(f->bytes && f->sent > f->bytes)) {
		int error = 0;
		socklen_t size = sizeof error;
		getsockopt(f->sender, SOL_SOCKET, SO_ERROR, &error, &size);
		end_flow(i, t, strerror(error ? error : f->error));
	} else {
		write_more(i, t);
	}
}

int main(void) {
	/* It ends a thread's call and nothing else. */
	struct sigaction waking = {.sa_handler = wake};
	sigaction(SIGUSR1, &waking, 0);
	mount("proc", "/proc", "proc", 0, 0);
	mount("sys", "/sys", "sysfs", 0, 0);
	if (mount("run", "/run", "tmpfs", 0, 0)) fail("tmpfs on /run");
	mkdir("/run/netns", 0755);
	mkdir(FOLDER, 0755);
	/* The run's folder is the kernel process's own working directory, so that no command line names it. */
	if (mount("none", FOLDER, "hostfs", 0, "/proc/self/cwd")) fail("the run's folder");
	samples = fopen(FOLDER "/samples", "we");
	if (!samples) fail("samples");
	setvbuf(samples, malloc(1 << 20), _IOFBF, 1 << 20);
	log_fd = open(log_path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
	stamps_fd = open(FOLDER "/stamps", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	clock_fd = open(FOLDER "/clock", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	if (log_fd < 0 || stamps_fd < 0 || clock_fd < 0) fail("files of results");
	epoll = epoll_create1(EPOLL_CLOEXEC);
	read_plan();
	int longer = n_programs;
	for (int i = 0; i < n_flows; i++) longer |= is_v6(flows[i].tx_address);
	if (longer) {
		frame_size = 256;
		snap = 128;
	}
	if (n_programs) {
		if (mkdir("/run/cgroup", 0755) || mount("cgroup", "/run/cgroup", "cgroup2", 0, 0) || write_text("/run/cgroup/cgroup.subtree_control", "+pids"))
			fail("this kernel cannot bound the number of processes; build it anew");
	}
	for (int i = 0; i < n_taps; i++) open_tap(&taps[i]);
	for (int i = 0; i < n_captures; i++) open_capture(i);
	for (int i = 0; i < n_queues; i++) {
		enter(queues[i].ns);
		queues[i].socket = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
		queues[i].index = (int)if_nametoindex(queues[i].device);
	}
	for (int i = 0; i < n_policers; i++) {
		enter(policers[i].ns);
		policers[i].socket = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	}
	for (int i = 0; i < n_flows; i++) if (flows[i].kind != PING && flows[i].kind != PROGRAM) listen_for(i);

	/* The run's clock begins at a whole second. */
	epoch = (clock_ns(CLOCK_MONOTONIC) / 1000000000u + 1) * 1000000000u;
	if (beginning_ns) epoch = agree_on_beginning(beginning_ns, beginning_device, epoch);
	real_offset = epoch + (clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC));
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	watch(timer, EPOLLIN, UINT64_MAX);
	uint64_t sample = step, told = 0;
	set_timer(timer, next_due(sample));
	struct epoll_event events[64];
	for (;;) {
		int n = epoll_wait(epoll, events, 64, -1);
		if (n < 0 && errno != EINTR) fail("epoll");
		uint64_t t = now();
		int rang = 0;
		for (int k = 0; k < n; k++) {
			if (events[k].data.u64 == UINT64_MAX) rang = 1;
			else ready(&events[k], t);
		}
		if (!rang) continue;
		uint64_t expired;
		if (read(timer, &expired, sizeof expired) < 0 && errno != EAGAIN) fail("timer");
		t = now();
		act(t);
		if (sample <= t) {
			sample_all(sample);
			if (sample - told >= 1000000000u) {
				told = sample;
				fflush(samples);
				put_stamps(0, 0);
				tell_clock(sample);
			}
			sample += step;
		}
		if (t >= length) break;
		uint64_t due = next_due(sample);
		set_timer(timer, due < length ? due : length);
	}
	for (int i = 0; i < n_taps; i++) {
		struct tpacket_stats lost = {0};
		socklen_t size = sizeof lost;
		drain_tap(i);
		getsockopt(taps[i].socket, SOL_PACKET, PACKET_STATISTICS, &lost, &size);
		if (lost.tp_drops) fprintf(samples, "missed %d %u\n", i, lost.tp_drops);
	}
	for (int i = 0; i < n_captures; i++) close_capture(i);
	for (int i = 0; i < n_flows; i++) {
		end_flow(i, length, "end of the run");
		for (int side = 0; flows[i].kind == PROGRAM && side < 2; side++) {
			read_output(i, (enum side)side, length);
			put_line(i, (enum side)side);
		}
	}
	put_stamps(0, 0);
	tell_clock(length);
	fprintf(samples, "done %llu\n", (unsigned long long)length);
	leave();
}
