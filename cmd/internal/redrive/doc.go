// Package redrive is the command redrive, and the redrive beside a run (dead_letters.redrive: auto).
package redrive
