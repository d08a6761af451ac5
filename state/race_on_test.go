//go:build race

package state

const raceDetector = true
