package resp_test

import (
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlserver/rlserver/resp"
)

// What is known of a client is read while its session works.
func TestInfo(t *testing.T) {
	lim := resp.DefaultLimits()
	peer := resp.ClientInfo{ID: 7, RemoteAddr: "192.0.2.1:1", CreatedAt: 5}
	s := resp.NewSession(peer, &handler{}, &lim, nil)
	var readers sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					if s.Info().ID != s.ID() {
						t.Error("the ID changes")
					}
				}
			}
		})
	}
	for i := range 1000 {
		s.Describe(func(info *resp.ClientInfo) { info.Name = strconv.Itoa(i) })
		s.Received(copy(s.Buffer(), "PING\r\n"))
		s.Process(1)
		s.Sent(len(s.Output()))
	}
	close(stop)
	readers.Wait()
	peer.Name = "999"
	if diff := cmp.Diff(peer, s.Info()); diff != "" {
		t.Errorf("Info (-want +got):\n%s", diff)
	}
}
