package model_test

import (
	"testing"

	"github.com/tablewake/tablewake/test/testmain"
)

// Each check opens stores.
func TestMain(m *testing.M) { testmain.Run(m, testmain.Checks(25)) }
