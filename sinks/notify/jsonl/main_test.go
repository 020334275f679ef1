package jsonl_test

import (
	"testing"

	"github.com/tablewake/tablewake/test/testmain"
)

// The tests make only 50 checks of each property, because each written file is synced.
func TestMain(m *testing.M) { testmain.Run(m, testmain.Checks(50)) }
