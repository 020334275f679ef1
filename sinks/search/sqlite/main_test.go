package sqlite_test

import (
	"testing"

	"github.com/tablewake/tablewake/test/testmain"
)

// TestMain reduces the cases of each property, because opening a file is slow.
func TestMain(m *testing.M) { testmain.Run(m, testmain.Child(childDir, child), testmain.Checks(6)) }
