package config

import (
	"time"

	"github.com/tablewake/tablewake/pipeline"
)

// Filter is one entry of `filters`.
type Filter struct {
	Name   string // what its drops are counted by
	Line   int    // of the entry in the file
	Filter pipeline.Filter

	verb *value // drop or keep
}

// Detector is one entry of `detect`.
type Detector struct {
	Name     string
	Line     int
	Func     string             // name of a Go function given to Assemble, else ""
	Detector pipeline.Detector  // nil where Func is set
	When     pipeline.Condition // of a Func detector; nil: every change. Others have it within Detector

	paths []string // whose values its events hold; patterns
}

// DeadLetters says where what could not be delivered goes.
type DeadLetters struct {
	Line        int
	Bucket      string // object store, with Prefix
	Prefix      string
	Queue       string
	Dir         string // a local directory
	Undecodable Undecodable
	MaxHold     time.Duration // how long a change may fail before it is given up; above 0 and below 24 h, by default 12 h
	AutoRedrive bool          // redrive: auto: letters go back by themselves once their sink is well again
	NoHold      bool          // quarantine: none: later changes of a key go on behind its letter
}

// Undecodable says what becomes of a record that cannot be decoded.
type Undecodable uint8

// What can become of a record that cannot be decoded.
const (
	DeadLetterUndecodable Undecodable = iota // raw, to dead letters
	BlockOnUndecodable                       // the stream stops there
)
