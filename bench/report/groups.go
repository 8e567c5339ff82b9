package main

import (
	"fmt"
	"log"
)

// group measures one part.
type group struct {
	name string
	run  func(*lab) ([]table, error)
}

func groups() []group {
	return []group{
		{"engine", engineTables},
		{"inbound", inboundTables},
		{"outbound", outboundTables},
		{"large", largeTables},
		{"whole", wholeTables},
	}
}

func groupNames() []string {
	var list []string
	for _, g := range groups() {
		list = append(list, g.name)
	}
	return list
}

// measure runs the groups, or the only one that is wanted.
func (l *lab) measure(only string) ([]table, error) {
	var all []table
	for _, g := range groups() {
		if only != "" && only != g.name {
			continue
		}
		log.Printf("measuring: %s", g.name)
		tables, err := g.run(l)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", g.name, err)
		}
		for i := range tables {
			tables[i].Group = g.name
		}
		all = append(all, tables...)
	}
	return all, nil
}
