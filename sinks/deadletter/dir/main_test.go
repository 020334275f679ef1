package dir_test

import (
	"testing"

	"github.com/tablewake/tablewake/test/testmain"
)

// Written files are synced.
func TestMain(m *testing.M) {
	testmain.Run(m, testmain.Child(childFolder, runChild), testmain.Checks(25))
}
