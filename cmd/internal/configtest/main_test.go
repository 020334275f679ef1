package configtest

import (
	"testing"

	"github.com/tablewake/tablewake/test/testmain"
)

// TestMain makes only 20 checks of each property, because each check opens stores.
func TestMain(m *testing.M) { testmain.Run(m, testmain.Checks(20)) }
