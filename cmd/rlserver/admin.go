package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/rlserver/rlserver/admin"
	"github.com/rlserver/rlserver/commands"
)

// sideDoor is the admin HTTP server while it runs; a nil one is closed.
type sideDoor struct {
	server *admin.Server
	addr   string
	done   chan struct{}
}

// openSideDoor serves HTTP on --admin-addr until shut. Where the address is
// the default one and taken, perhaps by another node on this machine, it warns
// and returns nil: decisions do not need the door.
func openSideDoor(ctx context.Context, cfg *config, p *parts, log *slog.Logger) (*sideDoor, error) {
	if cfg.adminAddr == "" {
		return nil, nil
	}
	server, err := admin.New(admin.Config{
		Node:     p.watch,
		Now:      p.watch.now,
		Log:      log,
		Policies: p.member.Policies(),
		Access:   httpAccess(p.access.users),
		Hosts:    cfg.adminHosts(),
	})
	if err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", cfg.adminAddr)
	if errors.Is(err, syscall.EADDRINUSE) && !cfg.isSet("admin-addr") {
		log.Warn("no status page and no metrics: the address is taken", "admin-addr", cfg.adminAddr, "remedy", "--admin-addr")
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s (--admin-addr): %w", cfg.adminAddr, err)
	}
	if cfg.adminTLS {
		listener = tlsDoor{tls.NewListener(listener, cfg.certs.serverConfig()), cfg.handshakeTimeout, p.watch.httpHandshakeFailed(log)}
	}
	d := &sideDoor{server: server, addr: listener.Addr().String(), done: make(chan struct{})}
	go func() {
		defer close(d.done)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the status page and the metrics are gone", "err", err)
		}
	}()
	return d, nil
}

// shut lets requests finish until ctx ends.
func (d *sideDoor) shut(ctx context.Context) error {
	if d == nil {
		return nil
	}
	err := d.server.Shutdown(ctx)
	<-d.done
	return err
}

func (d *sideDoor) String() string {
	if d == nil {
		return "off"
	}
	return d.addr
}

// httpAccess is what the users of the Redis doors may see now. Where nobody
// needs a password, whoever names no user may see everything.
func httpAccess(users func() *commands.Users) func(user, password string) admin.Visitor {
	return func(name, password string) (v admin.Visitor) {
		user := users().Initial()
		if name != "" {
			user, _ = users().Authenticate([]byte(name), []byte(password))
		}
		if user == nil {
			return v
		}
		v.Sees = func(key string) bool { return user.Reaches([]byte(key)) }
		switch {
		case user.Runs(commands.CategoryAdmin):
			v.Role = admin.RoleAdmin
		case user.Runs(commands.CategoryRead):
			v.Role = admin.RoleReader
		}
		return v
	}
}

// adminHosts are the names of --admin-host.
func (c *config) adminHosts() (hosts []string) {
	for host := range strings.SplitSeq(c.adminHost, ",") {
		if host = strings.TrimSpace(host); host != "" {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// isSet says whether a setting was given, even if as its default.
func (c *config) isSet(name string) (set bool) {
	c.set.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	return set
}
