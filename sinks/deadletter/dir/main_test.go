package dir_test

import (
	"testing"

	"github.com/tablewake/tablewake/test/testmain"
)

// The tests make only 25 checks of each property, because each written file is synced.
func TestMain(m *testing.M) {
	testmain.Run(m, testmain.Child(childFolder, runChild), testmain.Checks(25))
}
