// Package statetest is the conformance suite for implementations of [state.Store]. It checks quarantine marks, gaps,
// births, backfills, fingerprints and notes of held-back consumers, which package state explains. [Run] runs all
// checks. Package viewtest checks guards and contributions, because they change together with rows.
package statetest
