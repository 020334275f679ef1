//go:build !race

package simulation

// usualSeeds are run where no flag says otherwise.
const usualSeeds = 2000
