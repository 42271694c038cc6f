/* The TCP sockets of a flow of programs, at the end that sends its data: asked of the kernel at each sample (sock_diag(7)),
 * for no other process can read a program's own. A part of agent.c.
 *
 * Invariants: what is added up over connections goes on when one of them is gone; what cannot be added up is that of the
 * connection that has sent the most.
 */
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>

/* A connection, by the kernel's own number for it, as it was last seen. */
struct known { uint32_t cookie[2]; uint64_t retransmits, lost, delivered; };

struct sockets { int socket; struct known *known; unsigned n; };

static void open_sockets(int i) {
	struct program *p = flows[i].program;
	p->sockets = calloc(1, sizeof *p->sockets);
	enter(p->ns[p->sender]);
	p->sockets->socket = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
}

static struct known *known_socket(struct sockets *s, const uint32_t *cookie) {
	for (unsigned k = 0; k < s->n; k++) if (!memcmp(s->known[k].cookie, cookie, sizeof s->known[k].cookie)) return &s->known[k];
	s->known = realloc(s->known, (s->n + 1) * sizeof *s->known);
	if (!s->known) fail("memory for sockets");
	s->known[s->n] = (struct known){0};
	memcpy(s->known[s->n].cookie, cookie, sizeof s->known[s->n].cookie);
	return &s->known[s->n++];
}

static void sample_sockets(int i, uint64_t t) {
	struct flow *f = &flows[i];
	struct sockets *s = f->program->sockets;
	int v6 = is_v6(f->rx_address), open = 0, more = 1;
	uint8_t peer[16] = {0};
	inet_pton(family(f->rx_address), f->rx_address, peer);
	struct { struct nlmsghdr h; struct inet_diag_req_v2 r; } request = {
		.h = {.nlmsg_len = sizeof request, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP, .nlmsg_seq = 1},
		/* Connections that are established or being closed; a socket of version 6 may have a peer of version 4. */
		.r = {.sdiag_protocol = IPPROTO_TCP, .idiag_ext = 1 << (INET_DIAG_INFO - 1), .idiag_states = 1u << 1 | 1u << 4 | 1u << 5 | 1u << 8 | 1u << 9 | 1u << 11},
	};
	uint64_t cwnd = 0, in_flight = 0, most = 0;
	struct tcp_numbers main = {0};
	static const int families[] = {AF_INET, AF_INET6};
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	static uint8_t reply[1 << 16];
	for (int k = 0; k < 2; k++, more = 1) {
		request.r.sdiag_family = (uint8_t)families[k];
		if (send(s->socket, &request, sizeof request, 0) < 0) fail("netlink");
		while (more) {
			ssize_t size = recv(s->socket, reply, sizeof reply, MSG_DONTWAIT);
			if (size <= 0) fail("no answer about a program's sockets");
			int left = (int)size;
			for (struct nlmsghdr *h = (void *)reply; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
				/* A kernel without it says so, and nothing is known. */
				if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR) {
					more = 0;
					break;
				}
				struct inet_diag_msg *m = NLMSG_DATA(h);
				const uint8_t *to = (const uint8_t *)m->id.idiag_dst;
				if (!v6 && m->idiag_family == AF_INET6) {
					if (memcmp(to, mapped, sizeof mapped)) continue;
					to += sizeof mapped;
				} else if (v6 != (m->idiag_family == AF_INET6)) {
					continue;
				}
				if (memcmp(to, peer, v6 ? 16 : 4)) continue;
				int inner = (int)(h->nlmsg_len - NLMSG_LENGTH(sizeof *m));
				for (struct rtattr *a = (void *)(m + 1); RTA_OK(a, inner); a = RTA_NEXT(a, inner)) {
					if (a->rta_type != INET_DIAG_INFO) continue;
					struct tcp_numbers n = {0};
					memcpy(&n, RTA_DATA(a), RTA_PAYLOAD(a) < sizeof n ? RTA_PAYLOAD(a) : sizeof n);
					struct known *known = known_socket(s, m->id.idiag_cookie);
					known->retransmits = n.total_retrans;
					known->lost = n.total_retrans + n.lost;
					known->delivered = n.delivered;
					cwnd += n.snd_cwnd;
					in_flight += n.unacked + n.retrans - n.sacked - n.lost;
					if (!open++ || n.data_segs_out > most) {
						most = n.data_segs_out;
						main = n;
					}
				}
			}
		}
	}
	uint64_t retransmits = 0, lost = 0, delivered = 0;
	for (unsigned k = 0; k < s->n; k++) {
		retransmits += s->known[k].retransmits;
		lost += s->known[k].lost;
		delivered += s->known[k].delivered;
	}
	typedef unsigned long long u;
	fprintf(samples, "program %llu %d %d %u %llu %llu %llu %llu %llu %u %u %u %llu %u\n", (u)t, i, open, s->n, (u)cwnd, (u)in_flight,
		(u)retransmits, (u)lost, (u)delivered, main.rtt, main.rttvar, main.snd_ssthresh, (u)main.delivery_rate, main.ca_state);
}
