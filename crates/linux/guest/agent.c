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
 * One translation unit: this file has what all parts share and the life of the guest; taps.c reads packets, queues.c counters,
 * tunnels.c those of security associations, hosts.c sends and receives, connections.c does so by request and answer, programs.c and sockets.c watch the machine's own
 * programs, plan.c reads the plan. If a flow's next step depends on what it received, the engine decides: ask() passes the
 * question to the kernel's process and waits, and the guest's clock stands still.
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
#include <linux/xfrm.h>
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
/* A security association of ESP that lets packets in: where they go to, and its index. */
struct association { const char *ns, *to; uint32_t spi; int socket; };
struct tap { const char *ns, *device; unsigned frames, at; int socket; uint8_t *ring; uint64_t lost; };
/* A device whose packets are kept, both ways; `room` is what one takes in the ring. */
struct capture { const char *ns, *device; unsigned frames, at, snap, room; int socket; uint8_t *ring; FILE *file; };
/* What stands before each packet in a capture's file: its time, its length, and how much of it follows. */
struct kept { uint64_t at; uint32_t length, kept; };

static struct flow flows[4096];
static struct action actions[1024];
static struct queue queues[64];
static struct policer policers[64];
static struct association associations[64];
static struct tap taps[128];
static struct capture captures[128];
static int n_flows, n_actions, n_queues, n_policers, n_associations, n_taps, n_captures, n_programs;
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

/* --- the parts ------------------------------------------------------------------------------------------------ */

static int sends_data(int flow, int end);
static void read_output(int i, enum side side, uint64_t t);
static void start_programs(int i, uint64_t t);
static void stop_programs(int i, uint64_t t);
static void look_at_program(int i, uint64_t t);
static void count_processes(int i);
static void open_sockets(int i);
static void sample_sockets(int i, uint64_t t);
static void failed(int i, enum side side, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void end_flow(int i, uint64_t t, const char *why);
static void write_more(int i, uint64_t t);
static void start_connections(int i, uint64_t t, uint64_t planned);
static void open_connection(int i, uint64_t t, uint64_t bytes);
static void stream_due(int i, uint64_t t);
static void stop_stream(int i, uint64_t t);
static void sum_connections(int i, struct sums *sums);
static void connection_ready(uint32_t events, unsigned slot, int end, uint64_t t);
static void accept_connection(int i, int fd, uint64_t t);

#include "taps.c"
#include "queues.c"
#include "tunnels.c"
#include "hosts.c"
#include "programs.c"
#include "sockets.c"
#include "connections.c"
#include "plan.c"

/* --- the life of the guest ------------------------------------------------------------------------------------ */

static void tell_clock(uint64_t t) {
	char text[32];
	int n = snprintf(text, sizeof text, "%020llu\n", (unsigned long long)t);
	if (pwrite(clock_fd, text, (size_t)n, 0) < 0) fail("cannot write the clock");
	fsync(clock_fd);
}

static void sample_all(uint64_t t) {
	for (int i = 0; i < n_taps; i++) drain_tap(i);
	for (int i = 0; i < n_captures; i++) drain_capture(i);
	for (int i = 0; i < n_flows; i++)
		if (flows[i].life == RUNNING) sample_flow(i, t);
		else if (flows[i].life == WAITING) sample_received(i, t);
	close_quiet_connections();
	for (int i = 0; i < n_queues; i++) sample_queue(i, t);
	for (int i = 0; i < n_policers; i++) sample_policer(i, t);
	for (int i = 0; i < n_associations; i++) sample_association(i, t);
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
			fail("this kernel cannot bound the number of processes; build it again");
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
	for (int i = 0; i < n_associations; i++) open_association(&associations[i]);
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
