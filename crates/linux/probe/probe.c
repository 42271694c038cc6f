/* The init of a guest that is asked what its kernel has. It reads the names of queue disciplines to ask for from the file
 * `words` of its folder, a line each, and writes what it was told into the file `answer` there.
 *
 * Congestion controls and what `tcp_ecn` takes are read from /proc. There is no list of queue disciplines in /proc, so one
 * is created on the loopback device for each name: where the kernel has no such discipline, it says ENOENT (rtnetlink(7)),
 * and anything else is the discipline's own answer. What was created is deleted at once. teql's have the names of devices
 * that the kernel made with them, which no file has: each device is asked for, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#define FOLDER "/run/asked"
#define LOOPBACK 1

static FILE *answer;

static void end(const char *what) {
	if (answer) {
		if (what) fprintf(answer, "error %s: %s\n", what, strerror(errno));
		fclose(answer);
	}
	sync();
	reboot(RB_POWER_OFF);
	_exit(1);
}

/* Sends one request about the loopback device's root discipline; returns the kernel's error, 0 if there is none. */
static int request(int s, int type, int flags, const char *kind) {
	static unsigned number;
	struct {
		struct nlmsghdr head;
		struct tcmsg tc;
		char attributes[64];
	} message = {.head = {.nlmsg_len = NLMSG_LENGTH(sizeof message.tc),
			      .nlmsg_type = (unsigned short)type,
			      .nlmsg_flags = (unsigned short)(NLM_F_REQUEST | NLM_F_ACK | flags),
			      .nlmsg_seq = ++number},
		     .tc = {.tcm_family = AF_UNSPEC, .tcm_ifindex = LOOPBACK, .tcm_parent = TC_H_ROOT}};
	char reply[4096];
	if (kind) {
		struct rtattr *own = (struct rtattr *)((char *)&message + NLMSG_ALIGN(message.head.nlmsg_len));
		own->rta_type = TCA_KIND;
		own->rta_len = (unsigned short)RTA_LENGTH(strlen(kind) + 1);
		strcpy(RTA_DATA(own), kind);
		message.head.nlmsg_len = NLMSG_ALIGN(message.head.nlmsg_len) + RTA_ALIGN(own->rta_len);
	}
	if (send(s, &message, message.head.nlmsg_len, 0) < 0) end("netlink");
	for (;;) {
		ssize_t size = recv(s, reply, sizeof reply, 0);
		if (size < 0) end("netlink");
		for (struct nlmsghdr *head = (struct nlmsghdr *)reply; NLMSG_OK(head, size); head = NLMSG_NEXT(head, size))
			if (head->nlmsg_type == NLMSG_ERROR && head->nlmsg_seq == number)
				return -((struct nlmsgerr *)NLMSG_DATA(head))->error;
	}
}

static void discipline(int s, const char *name) {
	int said = request(s, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, name);
	if (said == ENOENT) return;
	fprintf(answer, "qdisc %s\n", name);
	if (!said) request(s, RTM_DELQDISC, 0, 0);
}

static void disciplines(FILE *words) {
	char word[64];
	int s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (s < 0) end("netlink");
	while (fgets(word, sizeof word, words)) {
		word[strcspn(word, "\n")] = 0;
		/* Longer ones are no names of disciplines: IFNAMSIZ with its zero. */
		if (*word && strlen(word) <= 15) discipline(s, word);
	}
	struct if_nameindex *devices = if_nameindex();
	if (!devices) end("devices");
	for (struct if_nameindex *own = devices; own->if_name; own++) discipline(s, own->if_name);
	if_freenameindex(devices);
	close(s);
}

static int takes(const char *path, const char *value) {
	int fd = open(path, O_WRONLY | O_CLOEXEC), taken;
	if (fd < 0) return 0;
	taken = write(fd, value, strlen(value)) > 0;
	close(fd);
	return taken;
}

int main(void) {
	char name[64];
	struct utsname own;
	if (mount("proc", "/proc", "proc", 0, 0) || mount("run", "/run", "tmpfs", 0, 0)) end(0);
	if (mkdir(FOLDER, 0755) || mount("none", FOLDER, "hostfs", 0, "/proc/self/cwd")) end(0);
	answer = fopen(FOLDER "/answer", "w");
	if (!answer) end(0);
	if (uname(&own)) end("uname");
	fprintf(answer, "release %s\n", own.release);
	FILE *controls = fopen("/proc/sys/net/ipv4/tcp_available_congestion_control", "r");
	if (!controls) end("tcp_available_congestion_control");
	while (fscanf(controls, "%63s", name) == 1) fprintf(answer, "cc %s\n", name);
	fclose(controls);
	/* What a host with AccECN agrees to when it is asked (ip-sysctl: tcp_ecn). */
	if (takes("/proc/sys/net/ipv4/tcp_ecn", "4")) fprintf(answer, "accecn\n");
	FILE *words = fopen(FOLDER "/words", "r");
	if (!words) end("words");
	disciplines(words);
	fclose(words);
	fprintf(answer, "done\n");
	end(0);
}
