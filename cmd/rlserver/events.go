package main

import (
	"log/slog"

	"github.com/rlserver/rlserver/resp"
	"github.com/rlserver/rlserver/resp/server"
)

// socketEvents logs what happens to connections. Of a normal one only debug
// tells.
func socketEvents(log *slog.Logger) server.Events {
	return server.Events{
		Closed: func(peer resp.ClientInfo, why server.Reason) {
			if why == server.ReasonHandshake {
				log.Warn("TLS handshake failed or took too long", "addr", peer.RemoteAddr)
			}
			log.Debug("connection closed", "addr", peer.RemoteAddr, "id", peer.ID, "why", string(why))
		},
		Refused: func(addr string, why server.Reason) {
			log.Warn("connection refused", "addr", addr, "why", string(why))
		},
		Accept: func(err error) {
			log.Error("cannot accept connections", "err", err)
		},
		Panic: func(peer resp.ClientInfo, value any, stack []byte) {
			log.Error("a command failed; its connection is closed", "addr", peer.RemoteAddr, "id", peer.ID, "panic", value, "stack", string(stack))
		},
	}
}
