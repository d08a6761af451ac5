package commands_test

import (
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/rlserver/rlserver/commands"
	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/policy"
)

// fakePolicies is a set of policies whose log has one writer.
type fakePolicies struct {
	mu       sync.Mutex
	view     *policy.View
	index    uint64
	err      error // of every write
	warnings []string
}

func newFakePolicies() *fakePolicies { return &fakePolicies{view: &policy.View{}} }

func (f *fakePolicies) View() *policy.View {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.view
}

func (f *fakePolicies) Set(p *policy.Policy, ifVersion *uint64, done func(uint64, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		done(0, f.err)
		return
	}
	have, old := uint64(0), f.view.Get(p.Name)
	if old != nil {
		have = old.Version
	}
	if ifVersion != nil && *ifVersion != have {
		done(0, &policy.VersionError{Want: *ifVersion, Have: have})
		return
	}
	f.index++
	set := *p
	set.Version = f.index
	rule, err := policy.Compile(set, limit.DefaultBounds())
	if err != nil {
		done(0, err)
		return
	}
	if old != nil {
		same := *rule
		same.Version = old.Version
		if reflect.DeepEqual(*old, same) {
			done(old.Version, nil)
			return
		}
	}
	f.view = f.view.Set(rule)
	done(f.index, nil)
}

func (f *fakePolicies) Delete(name string, _ *uint64, done func(bool, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		done(false, f.err)
		return
	}
	existed := f.view.Get(name) != nil
	f.index++
	f.view = f.view.Delete(name)
	done(existed, nil)
}

// reset drops everything.
func (f *fakePolicies) reset() { f.view, f.index, f.warnings = &policy.View{}, 0, nil }

func (f *fakePolicies) warned(name, warning string) {
	f.warnings = append(f.warnings, name+": "+warning)
}

// fakeBuckets keeps the buckets of policies in a map.
type fakeBuckets struct {
	mu      sync.Mutex
	buckets map[fakeAddress]*fakeBucket
}

type fakeAddress struct {
	slot uint16
	key  string
}

type fakeBucket struct {
	spec   limit.Spec
	bucket limit.Bucket
}

func newFakeBuckets() *fakeBuckets { return &fakeBuckets{buckets: map[fakeAddress]*fakeBucket{}} }

// peek returns what one bucket would answer.
func (f *fakeBuckets) peek(ask *commands.PolicyAsk, req limit.Request, now int64) (d limit.Decision) {
	req.Peek = true
	b := f.buckets[fakeAddress{ask.Slot, string(ask.Key)}]
	if b == nil {
		d, _ = limit.Decide(ask.Spec, ask.Spec, &limit.Bucket{}, now, req)
		return d
	}
	d, _ = limit.Decide(b.spec, ask.Spec, &b.bucket, now, req)
	return d
}

func (f *fakeBuckets) DecideAll(asks []commands.PolicyAsk, req limit.Request, now int64, out []limit.Decision) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	allowed := true
	for i := range asks {
		out[i] = f.peek(&asks[i], req, now)
		allowed = allowed && out[i].Allowed > 0
	}
	if !allowed || req.Peek || req.Cost == 0 {
		return allowed, nil
	}
	for i := range asks {
		ask := &asks[i]
		b := f.buckets[fakeAddress{ask.Slot, string(ask.Key)}]
		if b == nil {
			b = &fakeBucket{spec: ask.Spec}
			f.buckets[fakeAddress{ask.Slot, string(ask.Key)}] = b
		}
		out[i], _ = limit.Decide(b.spec, ask.Spec, &b.bucket, now, req)
		b.spec = ask.Spec
	}
	return true, nil
}

func (f *fakeBuckets) RefundPolicy(slot uint16, key []byte, n, now int64) (refunded, remaining int64, found bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.buckets[fakeAddress{slot, string(key)}]
	if b == nil {
		return 0, 0, false, nil
	}
	refunded, remaining, err = limit.Refund(b.spec, &b.bucket, now, n)
	return refunded, remaining, true, err
}

func (f *fakeBuckets) ResetPolicy(slot uint16, key []byte, _ int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := f.buckets[fakeAddress{slot, string(key)}] != nil
	delete(f.buckets, fakeAddress{slot, string(key)})
	return known
}

func (f *fakeBuckets) InspectPolicy(slot uint16, key []byte, now int64) (commands.BucketInfo, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.buckets[fakeAddress{slot, string(key)}]
	if b == nil {
		return commands.BucketInfo{}, false
	}
	return commands.BucketInfo{Spec: b.spec, Remaining: limit.Remaining(b.spec, &b.bucket, now)}, true
}

func (f *fakeBuckets) Within(h commands.Held) commands.PolicyKeyed {
	return fakeWithin{f, h.(held).slots}
}

// fakeWithin panics where the real store would wait for ever.
type fakeWithin struct {
	*fakeBuckets
	slots []uint16
}

func (f fakeWithin) mustHold(slot uint16) {
	if !slices.Contains(f.slots, slot) {
		panic(fmt.Sprintf("slot %d is not held", slot))
	}
}

func (f fakeWithin) DecideAll(asks []commands.PolicyAsk, req limit.Request, now int64, out []limit.Decision) (bool, error) {
	for _, ask := range asks {
		f.mustHold(ask.Slot)
	}
	return f.fakeBuckets.DecideAll(asks, req, now, out)
}

func (f fakeWithin) RefundPolicy(slot uint16, key []byte, n, now int64) (refunded, remaining int64, found bool, err error) {
	f.mustHold(slot)
	return f.fakeBuckets.RefundPolicy(slot, key, n, now)
}

func (f fakeWithin) ResetPolicy(slot uint16, key []byte, now int64) bool {
	f.mustHold(slot)
	return f.fakeBuckets.ResetPolicy(slot, key, now)
}

func (f fakeWithin) InspectPolicy(slot uint16, key []byte, now int64) (commands.BucketInfo, bool) {
	f.mustHold(slot)
	return f.fakeBuckets.InspectPolicy(slot, key, now)
}
