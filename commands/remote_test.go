package commands_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rlserver/rlserver/commands"
	"github.com/rlserver/rlserver/policy"
	"github.com/rlserver/rlserver/state"
)

// halves are two servers that share the slots: each owns those of one parity.
type halves struct {
	t       *testing.T
	worlds  [2]*world
	down    [2]error // why one cannot be asked
	asked   int
	between func() // called after each answer
}

// halfOwner owns the slots of one parity.
type halfOwner struct{ which uint16 }

func (halfOwner) Slot(key []byte) uint16                   { return state.Slot(key) }
func (o halfOwner) Serve(slot uint16) (uint64, bool)       { return 7, slot%2 == o.which }
func (halfOwner) MayAnswer() bool                          { return true }
func (o halfOwner) Holds(slot uint16, version uint64) bool { return version == 7 && slot%2 == o.which }
func (halfOwner) Owner(slot uint16) string                 { return fmt.Sprintf("node-%d", slot%2) }

// Ask implements commands.Remote.
func (h *halves) Ask(slot uint16, question []byte, done func(answer []byte, err error)) {
	h.asked++
	w := h.worlds[slot%2]
	if err := h.down[slot%2]; err != nil {
		done(nil, err)
		return
	}
	answer, condition, err := w.handler.Answer(question, w.now)
	if err == nil && !condition.Holds() {
		err = errors.New("it holds no more")
	}
	if h.between != nil {
		h.between()
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", commands.ErrNotAsked, err)
	}
	done(answer, err)
}

func newHalves(t *testing.T, onError policy.OnError, change ...func(i int, cfg *commands.Config)) *halves {
	t.Helper()
	h := &halves{t: t}
	rules := newFakePolicies()
	for i := range h.worlds {
		w := newWorld(t)
		h.worlds[i] = w
		w.rules = rules
		cfg := w.config()
		cfg.Ownership = halfOwner{uint16(i)}
		cfg.Sharing = &commands.Sharing{
			Remote: h, Fallback: buckets{newWorld(t).store}, Nodes: func() int64 { return 2 }, OnError: onError,
		}
		for _, do := range change {
			do(i, &cfg)
		}
		w.serve(t, cfg)
	}
	return h
}

func (h *halves) expect(node int, line, want string) {
	h.t.Helper()
	out, _ := h.worlds[node].send([]byte(line + "\r\n"))
	if got := show(h.t, out); !strings.HasPrefix(got, want) {
		h.t.Errorf("node %d, %s: %q, want %q", node, line, got, want)
	}
}

// key returns one whose slot a node owns.
func keyOf(node uint16, name string) string {
	for i := 0; ; i++ {
		if key := fmt.Sprintf("%s-%d", name, i); state.Slot([]byte(key))%2 == node {
			return key
		}
	}
}

// TestTwoNodesCountAsOne: whichever is asked, one of them counts.
func TestTwoNodesCountAsOne(t *testing.T) {
	h := newHalves(t, policy.OnErrorLocal)
	for owner := range uint16(2) {
		key := keyOf(owner, "k")
		for i := range 6 {
			want := "[1 5 " + fmt.Sprint(4-i)
			if i == 5 {
				want = "[0 5 0 "
			}
			h.expect(i%2, "RL.ALLOW "+key+" 5 1h", want)
		}
		h.expect(0, "EXISTS "+key, "1")
		h.expect(1, "RL.REFUND "+key+" 2", "[2 2]")
		h.expect(0, "RL.RESET "+key, "1")
		h.expect(1, "TTL "+key, "-2")
		h.expect(0, "CL.THROTTLE "+key+" 4 5 60", "[0 5 4 -1 ")
		h.expect(1, "RL.ALLOW "+key+" 5 1h x", "(error) ERR")
	}
	even, odd := keyOf(0, "many"), keyOf(1, "many")
	h.expect(0, "RL.ALLOW "+even+" 5 1h", "[1 5 4")
	h.expect(0, "RL.ALLOW "+odd+" 5 1h", "[1 5 4")
	h.expect(1, "EXISTS "+even+" "+odd+" neither", "2")
	h.expect(0, "DEL "+odd+" "+even, "2")
	h.expect(1, "EXISTS "+even+" "+odd, "0")
}

// TestOwnerCannotBeAsked: each fallback answers as documented, and an answer
// that was lost is never "nothing was charged".
func TestOwnerCannotBeAsked(t *testing.T) {
	key := keyOf(1, "k")
	for how, want := range map[policy.OnError][]string{
		policy.OnErrorOpen:   {"[1 10 10 0 0]", "[1 10 10 0 0]", "[1 10 10 0 0]"},
		policy.OnErrorClosed: {"[0 10 0 100 100]", "[0 10 0 100 100]", "[0 10 0 100 100]"},
		policy.OnErrorLocal:  {"[1 2 1 ", "[1 2 0 ", "[0 2 0 "}, // half of 4
		policy.OnErrorError:  {"(error) TRYAGAIN", "(error) TRYAGAIN", "(error) TRYAGAIN"},
	} {
		h := newHalves(t, how)
		h.down[1] = fmt.Errorf("%w: it is off", commands.ErrNotAsked)
		line := "RL.ALLOW " + key + " 10 1h"
		if how == policy.OnErrorLocal {
			line = "RL.ALLOW " + key + " 10 1h 4"
		}
		for _, w := range want {
			h.expect(0, line, w)
		}
		h.expect(0, "RL.RESET "+key, "(error) TRYAGAIN")
		h.down[1] = errors.New("no answer")
		h.expect(0, "RL.RESET "+key, "(error) ERR outcome unknown")
		if how == policy.OnErrorError {
			h.expect(0, line, "(error) ERR outcome unknown")
		}
	}
}

// TestCheckOverTwoOwners: all or nothing, though the buckets are counted by two
// nodes; a request that comes between is not let through, and what was taken for
// it in vain is given back.
func TestCheckOverTwoOwners(t *testing.T) {
	h := newHalves(t, policy.OnErrorLocal)
	client, tier := keyOf(0, "client"), ""
	for i := 0; ; i++ { // a tier whose bucket the other node counts
		tier = fmt.Sprintf("tier-%d", i)
		h.worlds[0].mustSet(t, "RL.POLICY.SET mine LIMIT 5 WINDOW 1h SCOPE mine", "RL.POLICY.SET all LIMIT 3 WINDOW 1h SCOPE all PER tier TIER "+tier)
		h.asked = 0
		h.expect(0, "RL.CHECK "+client+" TIER "+tier+" PEEK", "[1 ")
		if h.asked == 1 {
			break
		}
	}
	check := "RL.CHECK " + client + " TIER " + tier
	h.expect(0, check, "[1 3 2 0 ")
	h.expect(1, check, "[1 3 1 0 ")
	// Two are asked and would allow; before units are taken the last goes to
	// another.
	taken := false
	h.between = func() {
		if !taken {
			taken = true
			h.expect(1, check, "[1 3 0 0 ")
		}
	}
	h.expect(0, check, "[0 3 0 ")
	h.between = nil
	h.expect(1, check, "[0 3 0 ")
	h.expect(0, "RL.INSPECT "+client+" POLICY mine TIER "+tier, "[")
	out, _ := h.worlds[0].send([]byte("RL.CHECK " + client + " PEEK\r\n"))
	if got := show(t, out); !strings.HasPrefix(got, "[1 5 1 ") { // three passed; a peek tells what the next one leaves
		t.Errorf("what the client has left: %s", got)
	}
}
