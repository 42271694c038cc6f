/* Flows of the machine's own programs: a server and a client, each in a namespace and a cgroup of its own. A part of agent.c. */

/* Limits of a program: bytes of output before the run fails, and processes and threads of both ends. */
#define OUTPUT_KEPT (4u << 20)
#define PROCESSES 512
#define SERVER_PATIENCE 60000000000u
#define LAST_WORDS 1000000000u

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
	if (write_text(path, number)) fail("this kernel cannot bound the number of processes; build it again");
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

/* If a program asked for too many processes, the run fails: it would differ from an unlimited one. */
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
	if (!good && side == CLIENT_SIDE) failed(i, side, "%s, where it should end with %d", how, p->wanted);
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
