/* Tunnels: the counters of ESP's security associations, read at each sample interval (NETLINK_XFRM). A part of agent.c. */

/* What an association has let in, and what its replay window has refused: too old, or seen before (xfrm_replay.c, 7.3). */
static void sample_association(int number, uint64_t t) {
	struct association *a = &associations[number];
	struct {
		struct nlmsghdr h;
		struct xfrm_usersa_id id;
	} request = {
		.h = {.nlmsg_len = sizeof request, .nlmsg_type = XFRM_MSG_GETSA, .nlmsg_flags = NLM_F_REQUEST, .nlmsg_seq = 1},
		.id = {.spi = htonl(a->spi), .family = AF_INET, .proto = IPPROTO_ESP},
	};
	static uint8_t reply[1 << 14];
	struct nlmsghdr *h = (void *)reply;
	inet_pton(AF_INET, a->to, &request.id.daddr);
	if (send(a->socket, &request, sizeof request, 0) < 0) fail("netlink");
	ssize_t size = recv(a->socket, reply, sizeof reply, MSG_DONTWAIT);
	errno = 0;
	if (size < (ssize_t)NLMSG_LENGTH(sizeof(struct xfrm_usersa_info)) || h->nlmsg_type != XFRM_MSG_NEWSA) fail("no answer about a security association");
	struct xfrm_usersa_info *info = NLMSG_DATA(h);
	fprintf(samples, "association %llu %d %llu %u\n", (unsigned long long)t, number, (unsigned long long)info->curlft.packets, info->stats.replay_window + info->stats.replay);
}

static void open_association(struct association *a) {
	enter(a->ns);
	a->socket = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_XFRM);
	if (a->socket < 0) fail("a netlink socket for security associations");
}

/* A file with one line, which is read by a program that makes a tunnel. */
static void put_file(const char *path, const char *text) {
	int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || dprintf(fd, "%s\n", text) < 0) fail("%s", path);
	close(fd);
}
