//go:build race

package testmain

const raced = true
