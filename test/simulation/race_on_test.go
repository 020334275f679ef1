//go:build race

package simulation

// usualSeeds are fewer under the race detector, which has nothing to find in worlds of
// one thread each.
const usualSeeds = 150
