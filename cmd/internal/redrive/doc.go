// Package redrive is the command redrive, which delivers dead letters. It also has the automatic redrive during a run
// (dead_letters.redrive: auto).
package redrive
