// Package health says whether a consumer lives, and whether it works.
//
// It tells idle from stuck by progress, not by activity: a consumer that has nothing
// pending is idle, however long it has read nothing; one that has records pending of
// which none is finished for [Options.Patience] is stuck, however busily it tries. To
// be alive its loop must step and its beats must arrive: who calls restarts a process that
// is not, and no other.
package health
