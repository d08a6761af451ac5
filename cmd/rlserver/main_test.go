package main

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// beServer in the environment makes the test binary the server itself: the
// processes that tests start are of the code under test, with its race
// detector.
const beServer = "TEST_BE_RLSERVER"

func TestMain(m *testing.M) {
	if os.Getenv(beServer) != "" {
		main()
	}
	goleak.VerifyTestMain(m)
}
