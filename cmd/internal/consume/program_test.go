package consume

import (
	"testing"

	"github.com/tablewake/tablewake/cmd/internal/clitest"
	"github.com/tablewake/tablewake/cmd/internal/fleet"
	"github.com/tablewake/tablewake/cmd/internal/query"
)

var program = clitest.Program{New, fleet.NewStatus(nil), fleet.NewLeases, query.New}

func TestMain(m *testing.M) { program.TestMain(m) }
