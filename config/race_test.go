//go:build race

package config

// slowdown is what the race detector costs, roughly.
const slowdown = 16
