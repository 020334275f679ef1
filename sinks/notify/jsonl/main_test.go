package jsonl_test

import (
	"testing"

	"github.com/tablewake/tablewake/test/testmain"
)

// Each of the streams that a property runs on is synced.
func TestMain(m *testing.M) { testmain.Run(m, testmain.Checks(50)) }
