"""The dashboard: pages for people, rendered here, working without JavaScript where they can."""
