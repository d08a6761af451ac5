package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	"github.com/rlserver/rlserver/resp/server"
)

// doors are the addresses of Redis clients: one, or one beside one over TLS.
type doors struct {
	plain, tls net.Listener // nil: closed
}

func openDoors(ctx context.Context, cfg *config) (d doors, err error) {
	if d.plain, err = listen(ctx, "addr", cfg.addr); err != nil {
		return d, err
	}
	if d.tls, err = listen(ctx, "tls-addr", cfg.tlsAddr); err != nil {
		return d, errors.Join(err, d.close())
	}
	if d.tls != nil {
		d.tls = tls.NewListener(d.tls, cfg.certs.serverConfig())
	}
	return d, nil
}

// listen returns nil for an address that is empty.
func listen(ctx context.Context, flag, addr string) (net.Listener, error) {
	if addr == "" {
		return nil, nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s (--%s): %w", addr, flag, err)
	}
	return listener, nil
}

func (d doors) open() (listeners []net.Listener) {
	for _, l := range []net.Listener{d.plain, d.tls} {
		if l != nil {
			listeners = append(listeners, l)
		}
	}
	return listeners
}

// serve hands the doors to a server. What comes out of the channel is why one
// of them was shut.
func (d doors) serve(s *server.Server) <-chan error {
	listeners := d.open()
	shut := make(chan error, len(listeners))
	for _, l := range listeners {
		go func() { shut <- s.Serve(l) }()
	}
	return shut
}

func (d doors) close() error {
	var errs []error
	for _, l := range d.open() {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

// addr is where the node is found first of all.
func (d doors) addr() string {
	return d.open()[0].Addr().String()
}

func (d doors) plainAddr() string { return addrOf(d.plain) }
func (d doors) tlsAddr() string   { return addrOf(d.tls) }

func addrOf(l net.Listener) string {
	if l == nil {
		return "off"
	}
	return l.Addr().String()
}
