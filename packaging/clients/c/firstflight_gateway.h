/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Starts for transfers whose size is known, from a running Firstflight gateway. POSIX sockets on Linux; no library.
 *
 *     const char *why;
 *     firstflight_start(connection, NULL, size, FIRSTFLIGHT_OPTIMAL, &why);
 *     write(connection, ...);
 */
#ifndef FIRSTFLIGHT_GATEWAY_H
#define FIRSTFLIGHT_GATEWAY_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef SO_COOKIE
#define SO_COOKIE 57
#endif
#define FIRSTFLIGHT_SOCKET "/run/firstflight/gateway.sock"
/* Option of setsockopt at the level of TCP that has the plan of a socket applied. */
#define FIRSTFLIGHT_TRANSFER 0x4646

/* The window that ends the transfer soonest, or the smallest with as few round trips. */
enum firstflight_rule { FIRSTFLIGHT_OPTIMAL, FIRSTFLIGHT_SHIFTED };

/* Sends a request of `length` bytes to the gateway and reads the answer, a text of less than `size` bytes. The gateway has
 * one second. Returns 0, or -1 with errno. */
static int firstflight_exchange(const char *path, const char *request, size_t length, char *answer, size_t size)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct timeval patience = { .tv_sec = 1 };
	size_t have = 0;
	ssize_t got;
	int gateway, error;
	if (strlen(path) >= sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(address.sun_path, path);
	gateway = socket(AF_UNIX, SOCK_STREAM, 0);
	if (gateway < 0)
		return -1;
	setsockopt(gateway, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(gateway, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(gateway, (struct sockaddr *)&address, sizeof(address)) ||
	    send(gateway, request, length, MSG_NOSIGNAL) != (ssize_t)length)
		goto failed;
	/* The gateway closes the connection after its answer. */
	while (have + 1 < size && (got = read(gateway, answer + have, size - 1 - have)) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			goto failed;
		have += (size_t)got;
	}
	answer[have] = 0;
	close(gateway);
	return 0;
failed:
	error = errno;
	close(gateway);
	errno = error;
	return -1;
}

/* The reason for an error of setsockopt with FIRSTFLIGHT_TRANSFER. */
static const char *firstflight_reason(int error)
{
	switch (error) {
	case EBUSY: return "data that was written before is still on its way";
	case EACCES: return "the kernel's program uses no plans at present";
	case ENODATA: return "the plan is not for this connection";
	case ETIME: return "the plan has expired";
	case ECANCELED: return "the connection is held out, to measure the effect of the plans";
	case ENOPROTOOPT: return "the socket is not in the cgroup of the gateway";
	default: return "the kernel refused the plan";
	}
}

/* Starts a transfer of `bytes` that is about to be written to the TCP socket `connection`. `gateway` is the path of the
 * gateway's socket; NULL is FIRSTFLIGHT_SOCKET. Call it when nothing that was written before is still on its way, and before
 * the first byte of the transfer: on a new connection or after an idle time.
 *
 * Returns 1 if the plan of the gateway was applied. Returns 0 if the transfer starts as the stack starts it, and -1 with
 * errno if the gateway could not be asked; `*why`, if `why` is not NULL, is then the reason, a text that lives until the
 * next call of the thread. */
static int firstflight_start(int connection, const char *gateway, uint64_t bytes, enum firstflight_rule rule,
                             const char **why)
{
	static _Thread_local char answer[4096];
	const char *unused, *found;
	char peer[INET6_ADDRSTRLEN] = "", body[256], request[512], *end;
	struct sockaddr_storage address;
	socklen_t length = sizeof(address), eight = sizeof(uint64_t), four = sizeof(int);
	uint64_t cookie;
	int mss, one = 1, written;
	if (!why)
		why = &unused;
	*why = "the socket is no connected TCP socket";
	if (getpeername(connection, (struct sockaddr *)&address, &length) ||
	    getsockopt(connection, SOL_SOCKET, SO_COOKIE, &cookie, &eight) ||
	    getsockopt(connection, IPPROTO_TCP, TCP_MAXSEG, &mss, &four))
		return -1;
	if (address.ss_family == AF_INET)
		inet_ntop(AF_INET, &((struct sockaddr_in *)&address)->sin_addr, peer, sizeof(peer));
	else
		inet_ntop(AF_INET6, &((struct sockaddr_in6 *)&address)->sin6_addr, peer, sizeof(peer));
	written = snprintf(body, sizeof(body),
	                   "{\"destination\":\"%s\",\"bytes\":%llu,\"mss\":%d,\"start\":\"%s\",\"cookie\":%llu}", peer,
	                   (unsigned long long)bytes, mss, rule == FIRSTFLIGHT_SHIFTED ? "shifted" : "optimal",
	                   (unsigned long long)cookie);
	written = snprintf(request, sizeof(request),
	                   "POST /v1/plan HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\n"
	                   "Content-Length: %d\r\nConnection: close\r\n\r\n%s", written, body);
	*why = "no gateway answers at its socket";
	if (firstflight_exchange(gateway ? gateway : FIRSTFLIGHT_SOCKET, request, (size_t)written, answer, sizeof(answer)))
		return -1;
	if (!strstr(answer, "\"waits_for_socket\":true")) {
		/* A text of JSON: the reason, or the error. */
		static const char *const keys[] = { "\"reason\":\"", "\"why_not_applied\":\"", "\"error\":\"" };
		*why = "the gateway gave no plan";
		for (int i = 0; i < 3; i++) {
			found = strstr(answer, keys[i]);
			if (!found)
				continue;
			*why = found + strlen(keys[i]);
			end = strchr(*why, '"');
			if (end)
				*end = 0;
			break;
		}
		return 0;
	}
	if (setsockopt(connection, IPPROTO_TCP, FIRSTFLIGHT_TRANSFER, &one, sizeof(one))) {
		*why = firstflight_reason(errno);
		return 0;
	}
	*why = "planned";
	return 1;
}

#endif
