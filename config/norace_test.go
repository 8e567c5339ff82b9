//go:build !race

package config

const slowdown = 1
