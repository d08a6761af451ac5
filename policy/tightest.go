package policy

import (
	"math/bits"
	"strings"

	"github.com/rlserver/rlserver/limit"
)

// Answer is one scope's decision.
type Answer struct {
	Scope    string
	Decision limit.Decision
}

// Tightest returns the index of the answer that binds: the denying one with the
// longest wait (-1 is the longest), else the one with the least remaining
// share; ties by scope name. Without answers it is -1.
func Tightest(answers []Answer) int {
	best := -1
	for i := range answers {
		if best < 0 || answers[i].tighter(&answers[best]) {
			best = i
		}
	}
	return best
}

func (a *Answer) tighter(b *Answer) bool {
	x, y := &a.Decision, &b.Decision
	switch denied := x.Allowed == 0; {
	case denied != (y.Allowed == 0):
		return denied
	case denied:
		// As unsigned numbers -1 is the longest wait.
		if x.WaitMS != y.WaitMS {
			return uint64(x.WaitMS) > uint64(y.WaitMS)
		}
	default:
		// x.Remaining/x.Limit against y.Remaining/y.Limit, exactly.
		xHi, xLo := bits.Mul64(uint64(x.Remaining), uint64(y.Limit))
		yHi, yLo := bits.Mul64(uint64(y.Remaining), uint64(x.Limit))
		if xHi != yHi {
			return xHi < yHi
		}
		if xLo != yLo {
			return xLo < yLo
		}
	}
	return strings.Compare(a.Scope, b.Scope) < 0
}
