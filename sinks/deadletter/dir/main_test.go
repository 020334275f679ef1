package dir_test

import (
	"testing"

	"github.com/tablewake/tablewake/test/testmain"
)

// What is written is synced.
func TestMain(m *testing.M) {
	testmain.Run(m, testmain.Child(childFolder, runChild), testmain.Checks(25))
}
