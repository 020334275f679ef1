//go:build !race

package testmain

const raced = false
