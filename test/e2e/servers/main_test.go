package servers

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/tablewake/tablewake/test/faults"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, faults.Leaks()...)
}
