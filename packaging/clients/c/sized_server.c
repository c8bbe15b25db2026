/* SPDX-License-Identifier: MIT OR Apache-2.0
 * An HTTP server that asks the gateway for the start of each response, one connection at a time.
 *
 *     cc -O2 -o sized-server sized_server.c
 *     ./sized-server 8080 /run/firstflight/gateway.sock
 *     curl http://localhost:8080/100000
 */
#include "firstflight_gateway.h"

#include <signal.h>
#include <stdlib.h>

enum { LARGEST = 1 << 24 };

/* Reads a request up to its empty line; returns the size that it asks for, or -1 at the end of the connection. */
static long request(int connection)
{
	char head[4096];
	size_t have = 0;
	for (;;) {
		ssize_t got = read(connection, head + have, sizeof(head) - 1 - have);
		if (got <= 0)
			return -1;
		have += (size_t)got;
		head[have] = 0;
		if (strstr(head, "\r\n\r\n"))
			break;
		if (have + 1 == sizeof(head))
			return -1;
	}
	if (strncmp(head, "GET /", 5))
		return -1;
	long size = strtol(head + 5, NULL, 10);
	return size < 0 ? 0 : size > LARGEST ? LARGEST : size;
}

static int respond(int connection, const char *gateway, long size)
{
	static char body[LARGEST];
	char head[512];
	const char *why;
	firstflight_start(connection, gateway, (uint64_t)size + 200, FIRSTFLIGHT_OPTIMAL, &why);
	int length = snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %ld\r\nX-Start: %.200s\r\n\r\n", size, why);
	if (send(connection, head, (size_t)length, MSG_MORE) != length)
		return -1;
	for (long sent = 0; sent < size;) {
		ssize_t more = write(connection, body + sent, (size_t)(size - sent));
		if (more <= 0)
			return -1;
		sent += more;
	}
	return 0;
}

int main(int count, char **arguments)
{
	struct sockaddr_in6 address = { .sin6_family = AF_INET6 };
	socklen_t length = sizeof(address);
	int one = 1, zero = 0, listener, connection;
	if (count != 3) {
		fprintf(stderr, "expected: %s PORT SOCKET_OF_THE_GATEWAY\n", arguments[0]);
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	address.sin6_port = htons((uint16_t)atoi(arguments[1]));
	listener = socket(AF_INET6, SOCK_STREAM, 0);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) || listen(listener, 16) ||
	    getsockname(listener, (struct sockaddr *)&address, &length)) {
		perror("the port");
		return 1;
	}
	printf("%d\n", ntohs(address.sin6_port));
	fflush(stdout);
	while ((connection = accept(listener, NULL, NULL)) >= 0) {
		long size;
		while ((size = request(connection)) >= 0 && respond(connection, arguments[2], size) == 0)
			;
		close(connection);
	}
	perror("a connection");
	return 1;
}
