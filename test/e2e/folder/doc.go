// Package folder tests, end to end, that processes of one host can share a file system. It runs every pair of commands
// on one folder at the same time, and consumers beside redrives, which delete files of dead letters.
package folder
