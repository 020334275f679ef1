package replay_test

import (
	"github.com/tablewake/tablewake/cmd/internal/archive"
	"github.com/tablewake/tablewake/cmd/internal/clitest"
	"github.com/tablewake/tablewake/cmd/internal/explain"
	"github.com/tablewake/tablewake/cmd/internal/query"
	"github.com/tablewake/tablewake/cmd/internal/replay"
)

var program = clitest.Program{replay.New, query.New, archive.NewCompact, explain.New}
