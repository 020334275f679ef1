package adopt_test

import (
	"github.com/tablewake/tablewake/cmd/internal/adopt"
	"github.com/tablewake/tablewake/cmd/internal/backfill"
	"github.com/tablewake/tablewake/cmd/internal/clitest"
	"github.com/tablewake/tablewake/cmd/internal/query"
	"github.com/tablewake/tablewake/cmd/internal/redrive"
	"github.com/tablewake/tablewake/cmd/internal/replay"
)

var program = clitest.Program{replay.New, backfill.New, adopt.New, adopt.NewPurge, redrive.New, query.New}
