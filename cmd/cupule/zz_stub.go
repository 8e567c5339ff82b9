package main

import "github.com/spf13/cobra"

func (c *cli) resourcesCommand() *cobra.Command { return &cobra.Command{Use: "resources"} }
func (c *cli) readCommand() *cobra.Command      { return &cobra.Command{Use: "read"} }
func (c *cli) promptsCommand() *cobra.Command   { return &cobra.Command{Use: "prompts"} }
func (c *cli) promptCommand() *cobra.Command    { return &cobra.Command{Use: "prompt"} }
