package policy

import (
	"errors"
	"fmt"
)

// ErrNotWritten is returned for a write to what is replicated that certainly
// changed nothing, so that it may be tried again. Whoever returns it wraps it
// with the reason: `no majority of the voters answered within 2s; nothing was
// changed`.
var ErrNotWritten = errors.New("nothing was changed")

// ErrOutcomeUnknown is returned for a write that may have happened or may
// happen yet. Whoever returns it wraps it with what was waited for.
var ErrOutcomeUnknown = errors.New("outcome unknown")

// VersionError is returned for a write that asked for another version than the
// policy has; nothing was changed.
type VersionError struct {
	Want, Have uint64 // 0: no such policy
}

func (e *VersionError) Error() string {
	switch {
	case e.Have == 0:
		return fmt.Sprintf("IFVERSION is %d, but there is no such policy; nothing was changed", e.Want)
	case e.Want == 0:
		return fmt.Sprintf("IFVERSION is 0, but the policy exists with version %d; nothing was changed", e.Have)
	}
	return fmt.Sprintf("IFVERSION is %d, but the policy has version %d; nothing was changed", e.Want, e.Have)
}
