/* Queues and policers: their counters, read by rtnetlink at each sample interval. A part of agent.c. */
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

/* A policer's packets and drops; one that is switched off has no line. */
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
