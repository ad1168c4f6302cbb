"""GitHub: what people say there, what MAK answers, and the interfaces it goes through."""
