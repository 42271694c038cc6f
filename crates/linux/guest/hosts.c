/* Hosts: TCP, datagrams and probes through sockets, in the namespace of each end. A part of agent.c.
 *
 * Nothing here depends on being the init of a guest.
 */
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

/* What has come of a TCP flow with its sender in another kernel: here it never starts. */
static void sample_received(int i, uint64_t t) {
	struct flow *f = &flows[i];
	struct tcp_numbers n;
	if (f->kind != TCP || numbers(f->receiver, &n)) return;
	fprintf(samples, "received %llu %d %llu\n", (unsigned long long)t, i, (unsigned long long)n.bytes_received);
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

/* Whether a sender hears when it can write: only while it has data. */
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
		/* It is connected. The socket now reports errors only. */
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

/* The arrivals of a call that adapts since its last report to the engine. */
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
