// Package clients holds no code: its tests start rlserver and ask it for limits
// through the Redis clients that people have, each with a snippet that is also
// in docs/clients.md. For clients that cannot be installed here, what they send
// when they connect is replayed over a raw socket.
//
// A client that is missing makes its test skip and say how to install it; with
// CI=true that is a failure. scripts/install-test-deps installs all of them.
package clients
