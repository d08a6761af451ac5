package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strconv"

	"github.com/rlserver/rlserver/resp"
	"github.com/rlserver/rlserver/resp/server"
)

// socketEvents logs what happens to connections. Of a normal one only debug
// tells.
func socketEvents(log *slog.Logger) server.Events {
	return server.Events{
		Closed: func(peer resp.ClientInfo, why server.Reason) {
			log.Debug("connection closed", "addr", peer.RemoteAddr, "id", peer.ID, "why", string(why))
		},
		Refused: func(addr string, why server.Reason) {
			log.Warn("connection refused", "addr", addr, "why", string(why))
		},
		Handshake: func(addr string, err error) {
			log.Warn("TLS handshake failed", "addr", addr, "why", handshakeError(err))
		},
		Accept: func(err error) {
			log.Error("cannot accept connections", "err", err)
		},
		Panic: func(peer resp.ClientInfo, value any, stack []byte) {
			log.Error("a command failed; its connection is closed", "addr", peer.RemoteAddr, "id", peer.ID, "panic", value, "stack", string(stack))
		},
	}
}

// handshakeError says why a handshake failed. The peer may have had a say in
// the words, by its certificate.
func handshakeError(err error) string {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return "it took too long"
	}
	return oneLine(err.Error())
}

// oneLine makes what a peer said fit for the log: printable, and not long.
func oneLine(text string) string {
	const most = 256 // bytes
	quoted := strconv.QuoteToASCII(text[:min(len(text), most)])
	return quoted[1 : len(quoted)-1]
}
