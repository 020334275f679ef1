package sqlite_test

import (
	"testing"

	"github.com/tablewake/tablewake/test/testmain"
)

// A file is slow to open.
func TestMain(m *testing.M) { testmain.Run(m, testmain.Child(childDir, child), testmain.Checks(6)) }
